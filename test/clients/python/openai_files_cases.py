"""client.files of the openai client; started by files-python.test.ts."""

import io

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


if __name__ == "__main__":
    run(OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=60))
