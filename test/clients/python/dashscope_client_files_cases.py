"""client.files of dashscope.Client of 2.x; started by files-python.test.ts."""

import os
import tempfile
import time

import httpx
from cases import base_url, case, expect, expect_error, key, origin, run
from dashscope import Client
from dashscope.v2 import errors
from openai import BadRequestError, OpenAI

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


def ask(file_id):
    chat = OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=60).chat.completions
    messages = [{"role": "system", "content": f"fileid://{file_id}"}, {"role": "user", "content": "What is it?"}]
    return chat.create(model="svc-plus", messages=messages)


@case("gets a file uploaded for extraction, which a chat of the compatible interface may name")
def extracted(path):
    # client.files.upload cannot send a purpose.
    with open(path, "rb") as file:
        answer = httpx.post(
            origin() + "/api/v1/files",
            headers={"Authorization": f"Bearer {key()}"},
            files={"files": ("note.txt", file)},
            data={"purpose": "file-extract"},
            timeout=60,
        )
    file_id = answer.json()["data"]["uploaded_files"][0]["file_id"]
    record = client.files.get(file_id)
    expect(record.purpose == "file-extract" and record.name == "note.txt", record)
    expect(file_id in [entry.file_id for entry in client.files.list().files])
    chat = OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=60)
    deadline = time.monotonic() + 60
    while chat.files.retrieve(file_id).status == "uploaded" and time.monotonic() < deadline:
        time.sleep(0.1)
    expect(ask(file_id).usage.prompt_tokens > 10)
    client.files.delete(file_id)
    expect_error(BadRequestError, lambda: ask(file_id))


@case("cannot use a file of another purpose in a chat, and the error names the purpose")
def other_purpose(path):
    made = client.files.upload(file_path=path)
    error = expect_error(BadRequestError, lambda: ask(made.file_id))
    expect("fine-tune" in str(error), error)
    client.files.delete(made.file_id)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "training.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(LINE)
        run(path)
