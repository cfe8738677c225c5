"""client.batches of the openai client; started by batches-python.test.ts."""

import json
import time

from cases import base_url, case, expect, expect_error, key, run
from openai import ConflictError, NotFoundError, OpenAI

WAIT_S_MAX = 60
FINAL_STATUSES = ("completed", "failed", "expired", "cancelled")


def create_line(custom_id, body, url="/v1/chat/completions"):
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": body}


def chat(custom_id, content):
    return create_line(custom_id, {"model": "svc-plus", "messages": [{"role": "user", "content": content}]})


def create(client, lines, endpoint="/v1/chat/completions"):
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    file = client.files.create(file=("in.jsonl", text.encode()), purpose="batch")
    return client.batches.create(
        input_file_id=file.id, endpoint=endpoint, completion_window="24h", metadata={"ds_name": "n"}
    )


def until(client, batch, is_there):
    end = time.monotonic() + WAIT_S_MAX
    while time.monotonic() < end:
        current = client.batches.retrieve(batch.id)
        if is_there(current):
            return current
        time.sleep(0.05)
    raise AssertionError(current)


def wait_for_end(client, batch):
    return until(client, batch, lambda current: current.status in FINAL_STATUSES)


def results(client, file):
    return [json.loads(line) for line in client.files.content(file).text.splitlines()]


@case("uploads lines, creates, polls, and reads output and errors")
def whole_life(client):
    lines = [chat("one", "Hello"), '{"no":', chat("two", 'script:[{"fail":"engine-failed"}]')]
    made = create(client, lines)
    expect((made.object, made.status, made.metadata) == ("batch", "validating", {"ds_name": "n"}), made)
    batch = wait_for_end(client, made)
    counts = batch.request_counts
    expect((batch.status, counts.total, counts.completed, counts.failed) == ("completed", 3, 1, 2), batch)
    [output] = results(client, batch.output_file_id)
    expect((output["custom_id"], output["error"]) == ("one", None), output)
    expect(output["response"]["body"]["choices"][0]["message"]["content"] == "You said: Hello", output)
    [broken, failed] = results(client, batch.error_file_id)
    expect((broken["custom_id"], broken["error"]["code"], broken["error"]["line"]) == (None, "invalid_json_line", 2))
    expect((failed["custom_id"], failed["response"]["status_code"]) == ("two", 500), failed)


@case("gets the reason why a batch without a valid line failed")
def failed_batch(client):
    batch = wait_for_end(client, create(client, [create_line("a", {}, "/v1/chat/completion")]))
    [problem] = batch.errors.data
    expect((batch.status, problem.code, problem.param, problem.line) == ("failed", "url_not_found", "url", 1), batch)


@case("runs batches of responses and of embeddings")
def other_endpoints(client):
    line = create_line("r", {"model": "svc-plus", "input": "Hello"}, "/v1/responses")
    batch = wait_for_end(client, create(client, [line], "/v1/responses"))
    [response] = results(client, batch.output_file_id)
    expect(client.responses.retrieve(response["response"]["body"]["id"]).output_text == "You said: Hello")
    line = create_line("e", {"model": "svc-embed", "input": ["Hello", "you"]}, "/v1/embeddings")
    batch = wait_for_end(client, create(client, [line], "/v1/embeddings"))
    [embedding] = results(client, batch.output_file_id)
    expect([entry["index"] for entry in embedding["response"]["body"]["data"]] == [0, 1])


@case("cancels a running batch, and gets an error for a finished one")
def cancelled(client):
    made = create(client, [chat("quick", "Hello"), chat("never", 'script:["x",{"hang":true}]')])
    until(client, made, lambda current: current.request_counts.completed == 1)
    expect(client.batches.cancel(made.id).status == "cancelling")
    batch = wait_for_end(client, made)
    expect(batch.status == "cancelled" and batch.cancelled_at is not None, batch)
    expect([result["custom_id"] for result in results(client, batch.output_file_id)] == ["quick"])
    expect_error(ConflictError, lambda: client.batches.cancel(made.id))
    expect_error(NotFoundError, lambda: client.batches.retrieve("batch_none"))


@case("goes through all pages of a list")
def pages(client):
    made = [create(client, [chat("a", "Hello")]).id for _ in range(5)]
    listed = [batch.id for batch in client.batches.list(limit=2)]
    expect(listed[:5] == made[::-1], listed)
    expect(len(set(listed)) == len(listed))


if __name__ == "__main__":
    run(OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=60))
