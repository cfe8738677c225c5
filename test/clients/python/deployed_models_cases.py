"""Calls deployments with the openai and dashscope clients; started by deployments-python.test.ts.

Its Parley has a model `all` that generates text and makes vectors.
"""

import time

import dashscope
import openai
from cases import base_url, case, expect, expect_error, key, origin, run
from dashscope import Deployments, Generation, TextEmbedding
from openai import OpenAI
from engine_scripts import encode_script

dashscope.base_http_api_url = origin() + "/api/v1"
dashscope.api_key = key()
compatible = OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=60)

WAIT_S_MAX = 90


def user(content):
    return [{"role": "user", "content": content}]


def wait_for_status(name, status):
    deadline = time.monotonic() + WAIT_S_MAX
    while Deployments.get(name).output.status != status:
        expect(time.monotonic() < deadline, "not in time", name, status)
        time.sleep(0.05)
    return name


def deploy(suffix, **more):
    made = Deployments.call(**{"model": "all", "suffix": suffix, **more})
    expect(made.status_code == 200, made)
    return wait_for_status(made.output.deployed_model, "RUNNING")


def chat(name, content="Hi", **more):
    return compatible.chat.completions.create(model=name, messages=user(content), **more)


@case("the openai client gets answers, streams and vectors of a deployment")
def openai_client():
    name = deploy("openai", plan="mu", capacity=2)
    whole = chat(name, encode_script("Hel", "lo"))
    expect((whole.model, whole.choices[0].message.content) == (name, "Hello"), whole)
    chunks = list(chat(name, encode_script("Hel", "lo"), stream=True))
    received = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    expect(received == "Hello" and {chunk.model for chunk in chunks} == {name}, chunks)
    vectors = compatible.embeddings.create(model=name, input=["one", "two"])
    expect(vectors.model == name and len(vectors.data) == 2, vectors)
    response = compatible.responses.create(model=name, input=encode_script("Hel", "lo"))
    expect((response.model, response.output_text) == (name, "Hello"), response)
    text = compatible.completions.create(model=name, prompt=encode_script("Hel", "lo"))
    expect((text.model, text.choices[0].text) == (name, "Hello"), text)
    expect(name in [model.id for model in compatible.models.list()])


@case("the dashscope client gets answers, streams and vectors of a deployment")
def dashscope_client():
    name = deploy("native", plan="mu", capacity=1)
    answer = Generation.call(model=name, messages=user(encode_script("Hel", "lo")), result_format="message")
    expect(answer.status_code == 200 and answer.output.choices[0].message.content == "Hello", answer)
    events = list(Generation.call(model=name, prompt=encode_script("Hel", "lo"), stream=True, incremental_output=True))
    expect("".join(event.output.text for event in events) == "Hello", events)
    vectors = TextEmbedding.call(model=name, input=["one", "two"])
    expect(vectors.status_code == 200 and len(vectors.output["embeddings"]) == 2, vectors)


@case("each gets its own error for a stopped deployment, and answers after its restart")
def stopped():
    name = deploy("stopped", plan="mu", capacity=1)
    expect(Deployments.scale(name, 0).status_code == 200)
    wait_for_status(name, "STOPPED")
    why = f"Deployment {name} cannot serve calls: its status is STOPPED."
    refused = expect_error(openai.InternalServerError, lambda: chat(name))
    expect(refused.status_code == 503 and why in refused.message, refused)
    answer = Generation.call(model=name, prompt="Hi")
    expect(answer.status_code == 503 and why in answer.message, answer)
    expect(Deployments.scale(name, 1).status_code == 200)
    wait_for_status(name, "RUNNING")
    expect(chat(name).model == name)


@case("each gets its own error for a reached limit, with the time to retry")
def limited():
    name = deploy("limited", plan="mu", capacity=1)
    Deployments.put(name, {"rpm_limit": 1}, path="deployments/" + name)
    expect(chat(name).model == name)
    refused = expect_error(openai.RateLimitError, lambda: chat(name))
    expect("rpm_limit: deployment all-limited has 1 requests" in refused.message, refused)
    expect(int(refused.response.headers["retry-after"]) > 0, refused.response.headers)
    answer = Generation.call(model=name, prompt="Hi")
    expect((answer.status_code, answer.code) == (429, "Throttling.RateQuota"), answer)


if __name__ == "__main__":
    run()
