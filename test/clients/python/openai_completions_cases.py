"""Text completion with the openai client for Python; started by openai-python-completions.test.ts."""

import json

import openai
from cases import base_url, case, expect, expect_error, key, run
from openai import OpenAI

MODEL = "svc-coder-turbo"


def encode_script(*steps):
    """Encodes a prompt that makes the scripted engine output these texts."""
    return "script:" + json.dumps(steps)


def ask(client, **more):
    return client.completions.create(**{"model": MODEL, **more})


@case("gets an answer")
def plain(client):
    answer = ask(client, prompt=encode_script("Hel", "lo"), max_tokens=8, temperature=0.2, user="me")
    choice = answer.choices[0]
    expect(answer.object == "text_completion" and answer.id.startswith("cmpl-"), answer)
    expect((choice.text, choice.index, choice.finish_reason, choice.logprobs) == ("Hello", 0, "stop", None), choice)
    expect(answer.usage.total_tokens == answer.usage.prompt_tokens + 2, answer.usage)


@case("gets a stream with the same text, and its usage last")
def streamed(client):
    chunks = list(ask(client, prompt=encode_script("Hel", "lo"), stream=True, stream_options={"include_usage": True}))
    expect("".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == "Hello", chunks)
    expect([c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop", chunks)
    expect(chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 2, chunks[-1])


@case("gets the text before its suffix")
def filled(client):
    suffix = "\n    return result\n"
    choice = ask(client, prompt=encode_script("x += 1", suffix, "more"), suffix=suffix).choices[0]
    expect((choice.text, choice.finish_reason) == ("x += 1", "stop"), choice)


@case("gets n answers to each prompt of a list")
def several(client):
    answer = ask(client, prompt=[encode_script("a"), encode_script("b")], n=2)
    received = [(choice.index, choice.text) for choice in answer.choices]
    expect(received == [(0, "a"), (1, "a"), (2, "b"), (3, "b")], received)


@case("gets its prompt echoed, and log probabilities of prompt, answer and end token")
def echoed(client):
    prompt = "é" + encode_script("a", "👍")
    choice = ask(client, prompt=prompt, echo=True, logprobs=1).choices[0]
    logprobs = choice.logprobs
    for token, offset in zip(logprobs.tokens[:-1], logprobs.text_offset, strict=False):
        expect(choice.text[offset : offset + len(token)] == token, token, offset, choice.text)
    expect(choice.text.startswith(prompt) and "".join(logprobs.tokens[:-1]) == choice.text, choice)
    expect(logprobs.tokens[-1] == "<|endoftext|>" and logprobs.text_offset[-1] == len(choice.text), logprobs)
    expect(len(logprobs.token_logprobs) == len(logprobs.top_logprobs) == len(logprobs.tokens), logprobs)
    expect(logprobs.token_logprobs[0] is None and logprobs.top_logprobs[0] is None, logprobs)


@case("may send its prompt as token ids")
def by_tokens(client):
    expect(len(ask(client, prompt=[1, 2, 3], max_tokens=2).choices) == 1)


@case("gets the names of ignored fields in a header")
def ignored(client):
    raw = client.completions.with_raw_response.create(model=MODEL, prompt=encode_script("a"), temperature=0, top_p=0.5)
    expect(raw.headers["x-parley-ignored"] == "top_p", raw.headers)


@case("raises BadRequestError for a suffix alone, naming the field")
def suffix_only(client):
    error = expect_error(openai.BadRequestError, lambda: ask(client, prompt="", suffix="x"))
    expect(error.param == "prompt" and "precedes a given suffix" in error.message, error.body)


@case("raises NotFoundError for a chat-only model")
def not_served(client):
    error = expect_error(openai.NotFoundError, lambda: ask(client, model="svc-plus", prompt="x"))
    expect(error.code == "model_not_supported" and "svc-coder-turbo" in error.message, error.body)


if __name__ == "__main__":
    run(OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=60))
