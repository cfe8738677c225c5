"""client.files of the openai client; started by files-python.test.ts."""

import hashlib
import io
import pathlib
import tempfile

from cases import base_url, case, expect, expect_error, key, run
from openai import BadRequestError, NotFoundError, OpenAI

LINE = b'{"custom_id": "1"}\n'


@case("uploads, lists, retrieves, reads and deletes a file")
def whole_life(client):
    made = client.files.create(file=("\u00fc \u65e5\u672c.jsonl", LINE), purpose="batch")
    expect((made.bytes, made.filename, made.purpose, made.status) == (len(LINE), "\u00fc \u65e5\u672c.jsonl", "batch", "processed"), made)
    expect(client.files.retrieve(made.id) == made)
    expect([entry.id for entry in client.files.list(purpose="batch")] == [made.id])
    expect(client.files.content(made.id).read() == LINE)
    expect(client.files.delete(made.id).deleted)
    for call in (client.files.retrieve, client.files.content, client.files.delete):
        expect_error(NotFoundError, lambda: call(made.id))


@case("uploads megabytes from a stream")
def large(client):
    content = bytes(range(256)) * 4 * 4096
    made = client.files.create(file=io.BytesIO(content), purpose="file-extract")
    expect(made.bytes == len(content))
    expect(client.files.content(made.id).read() == content)
    client.files.delete(made.id)


@case("goes through all pages, also while deleting")
def pages(client):
    ids = [client.files.create(file=("x", b"x"), purpose="fine-tune").id for _ in range(5)]
    expect({entry.id for entry in client.files.list(limit=2)} == set(ids))
    for entry in client.files.list(limit=2):
        client.files.delete(entry.id)
    expect(client.files.list().data == [])


@case("with a bad purpose raises BadRequestError, which names it")
def bad_purpose(client):
    error = expect_error(BadRequestError, lambda: client.files.create(file=("x", b"x"), purpose="assistants"))
    expect(error.param == "purpose", error)


@case("uploads a file in parts with its helper, from memory and from the disk")
def chunked(client):
    content = bytes(range(256)) * 4 * 1024 + b"end"
    digest = hashlib.md5(content).hexdigest()
    settings = {"mime_type": "text/plain", "purpose": "fine-tune", "part_size": 300_000, "md5": digest}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "big.bin"
        path.write_bytes(content)
        uploads = [
            client.uploads.upload_file_chunked(file=path, **settings),
            client.uploads.upload_file_chunked(file=content, filename="big.bin", bytes=len(content), **settings),
        ]
    for upload in uploads:
        expect((upload.status, upload.object, upload.bytes) == ("completed", "upload", len(content)), upload)
        expect((upload.file.filename, upload.file.bytes) == ("big.bin", len(content)), upload)
        expect(client.files.content(upload.file.id).read() == content)
        client.files.delete(upload.file.id)


@case("cancels an upload in parts, and gets an error that names a wrong digest")
def cancelled(client):
    upload = client.uploads.create(bytes=1, filename="a", mime_type="text/plain", purpose="batch")
    part = client.uploads.parts.create(upload.id, data=b"x")
    expect((part.object, part.upload_id) == ("upload.part", upload.id), part)
    complete = {"part_ids": [part.id], "md5": "0" * 32}
    error = expect_error(BadRequestError, lambda: client.uploads.complete(upload.id, **complete))
    expect(error.param == "md5", error)
    expect(client.uploads.cancel(upload.id).status == "cancelled")
    expect_error(BadRequestError, lambda: client.uploads.parts.create(upload.id, data=b"x"))
    expect_error(NotFoundError, lambda: client.uploads.cancel("upload_none"))


if __name__ == "__main__":
    run(OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=60))
