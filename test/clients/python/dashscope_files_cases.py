"""Files of the 1.x API of the dashscope client; started by files-python.test.ts."""

import os
import tempfile

import dashscope
from cases import case, expect, key, origin, run
from dashscope import Files

dashscope.base_http_api_url = origin() + "/api/v1"
dashscope.api_key = key()

LINE = '{"messages": []}\n'


@case("uploads, lists, gets and deletes a file")
def whole_life(path):
    uploaded = Files.upload(file_path=path, description="what it is")
    expect(uploaded.status_code == 200, uploaded)
    (entry,) = uploaded.output["uploaded_files"]
    expect(entry["name"] == os.path.basename(path) and uploaded.output["failed_uploads"] == [], uploaded)
    listed = Files.list(page=1, page_size=10).output
    expect(listed["total"] == 1 and [each["file_id"] for each in listed["files"]] == [entry["file_id"]], listed)
    record = Files.get(entry["file_id"]).output
    expect((record["size"], record["purpose"], record["description"]) == (len(LINE), "fine-tune", "what it is"), record)
    expect(Files.delete(entry["file_id"]).status_code == 200)
    for call in (Files.get, Files.delete):
        refused = call(entry["file_id"])
        expect((refused.status_code, refused.code, refused.message) == (400, "InvalidParameter", "File not found."), refused)


@case("gets InvalidParameter for an invalid page size")
def bad_page(_):
    refused = Files.list(page=1, page_size=101)
    expect((refused.status_code, refused.code) == (400, "InvalidParameter"), refused)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "training.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(LINE)
        run(path)
