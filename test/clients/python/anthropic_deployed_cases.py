"""Calls a deployment with the anthropic client; started by deployments-python.test.ts."""

import json
import time
import urllib.request

from anthropic import Anthropic, RateLimitError
from cases import case, expect, expect_error, key, origin, run
from engine_scripts import encode_script

messages = Anthropic(base_url=origin() + "/apps/anthropic", api_key=key(), max_retries=0, timeout=60)

WAIT_S_MAX = 90


def manage(method, path="", body=None):
    request = urllib.request.Request(
        origin() + "/api/v1/deployments" + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"authorization": "Bearer " + key(), "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["output"]


def deploy(suffix, **more):
    name = manage("POST", body={"model_name": "svc-plus", "suffix": suffix, **more})["deployed_model"]
    deadline = time.monotonic() + WAIT_S_MAX
    while manage("GET", "/" + name)["status"] != "RUNNING":
        expect(time.monotonic() < deadline, "not in time", name)
        time.sleep(0.05)
    return name


def create_request(name, *steps):
    return {"model": name, "max_tokens": 16, "messages": [{"role": "user", "content": encode_script(*steps)}]}


@case("gets answers, streams and token counts of a deployment")
def called():
    name = deploy("messages", plan="cu", capacity=1)
    request = create_request(name, "Hel", "lo")
    answer = messages.messages.create(**request)
    expect((answer.model, answer.content[0].text) == (name, "Hello"), answer)
    with messages.messages.stream(**request) as stream:
        expect(stream.get_final_message().content[0].text == "Hello")
    counted = messages.messages.count_tokens(model=name, messages=request["messages"])
    expect(counted.input_tokens == answer.usage.input_tokens, counted, answer)
    expect(name in [model.id for model in messages.models.list()])


@case("gets an error that names the reached limit")
def limited():
    name = deploy("limited", plan="mu", capacity=1, rpm_limit=1)
    messages.messages.create(**create_request(name, "Hello"))
    refused = expect_error(RateLimitError, lambda: messages.messages.create(**create_request(name, "Hello")))
    expect("rpm_limit: deployment svc-plus-limited has 1 requests" in str(refused), refused)


if __name__ == "__main__":
    run()
