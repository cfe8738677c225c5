"""client.files of dashscope.Client of 2.x, started by files-python.test.ts."""

import os
import tempfile

from cases import case, expect, expect_error, key, origin, run
from dashscope import Client
from dashscope.v2 import errors

LINE = '{"messages": []}\n'
client = Client(base_url=origin() + "/api/v1", api_key=key(), max_retries=0, timeout=60)


@case("uploads, lists, gets and deletes a file")
def whole_life(path):
    made = client.files.upload(file_path=path, description="what it is")
    expect(made.file_id and made.name == os.path.basename(path), made)
    listed = client.files.list()
    expect((listed.total_count, [entry.file_id for entry in listed.files]) == (1, [made.file_id]), listed)
    record = client.files.get(made.file_id)
    expect((record.size, record.purpose) == (len(LINE), "fine-tune"), record)
    expect(client.files.delete(made.file_id).request_id)
    for call in (client.files.get, client.files.delete):
        expect_error(errors.NotFoundError, lambda: call(made.file_id))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "training.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(LINE)
        run(path)
