"""The openai client for Python; started by openai-python.test.ts.

Environment in addition to that of cases.py: ONE_ADDRESS and ONE_KEY of a Parley with one sequence.
"""

import os
import threading
import time

import openai
from cases import REQUEST_S_MAX, base_url, case, expect, expect_error, key, run
from openai import OpenAI

MODEL = "svc-plus"
MESSAGES = [{"role": "user", "content": "Count from one to ten in words, separated by commas."}]
# Greedy sampling, so that two calls can be compared; short, because the machine is slow.
QUESTION = {"model": MODEL, "messages": MESSAGES, "temperature": 0, "seed": 7, "max_tokens": 8}


def create_client(base, api_key):
    return OpenAI(base_url=base, api_key=api_key, max_retries=0, timeout=REQUEST_S_MAX)


def ask(client, **more):
    return client.chat.completions.create(**{**QUESTION, **more})


@case("gets an answer")
def plain(client):
    answer = ask(client)
    expect(answer.object == "chat.completion" and answer.model == MODEL, answer)
    expect(answer.id.startswith("chatcmpl-"), answer.id)
    expect(answer.choices[0].message.content, answer)
    usage = answer.usage
    expect(usage.prompt_tokens > 10 and 0 < usage.completion_tokens <= 8, usage)
    expect(usage.total_tokens == usage.prompt_tokens + usage.completion_tokens, usage)


@case("gets a stream with the same text, and its usage last")
def streamed(client):
    whole = ask(client)
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    expect(chunks[0].choices[0].delta.role == "assistant", chunks[0])
    received = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    expect(received == whole.choices[0].message.content, received, whole)
    reasons = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    expect([reason for reason in reasons if reason] == [whole.choices[0].finish_reason], reasons)
    # Only the counts are compared, because the number of cached prompt tokens differs.
    expect(chunks[-1].choices == [] and get_token_counts(chunks[-1]) == get_token_counts(whole), chunks[-1], whole)
    expect(all(chunk.usage is None for chunk in chunks[:-1]))


def get_token_counts(answer):
    return answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens


@case("can use the stream collector of the client")
def collected(client):
    # The collector raises an error at the token limit, so a stop string ends the answer before it.
    stop = ask(client).choices[0].message.content[8:13]
    with client.chat.completions.stream(**QUESTION, stop=stop) as stream:
        kinds = {event.type for event in stream}
        answer = stream.get_final_completion()
    expect({"chunk", "content.delta", "content.done"} <= kinds, kinds)
    expect(answer.choices[0].finish_reason == "stop" and answer.choices[0].message.content, answer)


@case("gets an answer that ends before a stop string")
def stopped(client):
    whole = ask(client).choices[0].message.content
    stop = whole[8:13]
    choice = ask(client, stop=[stop]).choices[0]
    expect(choice.message.content == whole[: whole.index(stop)], choice, whole)
    expect(choice.finish_reason == "stop", choice)


@case("gets two choices")
def two_choices(client):
    answer = ask(client, temperature=1, n=2)
    expect([choice.index for choice in answer.choices] == [0, 1], answer)
    expect(all(choice.message.content for choice in answer.choices), answer)


@case("gets two choices in one stream, distinguished by index")
def two_choices_streamed(client):
    chunks = list(ask(client, temperature=1, n=2, stream=True))
    ended = sorted(choice.index for chunk in chunks for choice in chunk.choices if choice.finish_reason)
    expect(ended == [0, 1], ended)


@case("gets log probabilities for every token")
def logprobs(client):
    choice = ask(client, logprobs=True, top_logprobs=3).choices[0]
    tokens = choice.logprobs.content
    expect(bytes(b for token in tokens for b in token.bytes).decode() == choice.message.content, choice)
    for token in tokens:
        expect(token.logprob <= 0 and len(token.top_logprobs) == 3, token)
        # Greedy sampling takes the most likely token.
        expect(token.top_logprobs[0].token == token.token, token)


@case("gets finish reason length at its token limit")
def length(client):
    answer = ask(client, max_tokens=3)
    expect(answer.choices[0].finish_reason == "length" and answer.usage.completion_tokens == 3, answer)


@case("with a wrong key raises AuthenticationError")
def wrong_key(client):
    client_with_wrong_key = client.with_options(api_key="sk-unknown-key")
    error = expect_error(openai.AuthenticationError, lambda: ask(client_with_wrong_key))
    expect(error.status_code == 401 and error.code == "invalid_api_key", error)


@case("with an unknown model raises NotFoundError")
def unknown_model(client):
    for stream in (False, True):
        error = expect_error(openai.NotFoundError, lambda: ask(client, model="no-such-model", stream=stream))
        expect(error.code == "model_not_found" and "no-such-model" in error.message, error)


@case("with a temperature of 3 raises BadRequestError, which names the field")
def bad_parameter(client):
    error = expect_error(openai.BadRequestError, lambda: ask(client, temperature=3))
    expect(error.param == "temperature" and error.code == "invalid_parameter_error", error, error.body)
    expect(bool(error.request_id), error.request_id)


@case("lists the models and retrieves one")
def models(client):
    ids = [model.id for model in client.models.list()]
    expect(MODEL in ids and "svc-tiny" in ids, ids)
    expect(client.models.retrieve(MODEL).id == MODEL)
    expect_error(openai.NotFoundError, lambda: client.models.retrieve("no-such-model"))


@case("gets vectors, as numbers and in base64")
def vectors(client):
    def embed(**more):
        return client.embeddings.create(model="text-embedding-v4", input=["A cat.", "A dog."], **more)

    by_default, numbers, encoded = embed(), embed(encoding_format="float"), embed(encoding_format="base64")
    expect([entry.index for entry in by_default.data] == [0, 1] and by_default.usage.prompt_tokens >= 6, by_default.usage)
    near = [abs(a - b) < 1e-6 for a, b in zip(by_default.data[0].embedding, numbers.data[0].embedding)]
    expect(len(near) == len(numbers.data[0].embedding) > 0 and all(near))
    expect(isinstance(encoded.data[0].embedding, str), type(encoded.data[0].embedding))


@case("gets a different request id for each call")
def request_id(client):
    def call():
        raw = client.chat.completions.with_raw_response.create(**{**QUESTION, "max_tokens": 1})
        expect(raw.headers["x-request-id"] == raw.parse()._request_id, raw.headers)
        return raw.headers["x-request-id"]

    expect(call() != call())


@case("may leave out the prefix of the compatible interface")
def bare_path(client):
    bare = create_client(os.environ["ADDRESS"] + "/v1", key())
    expect(ask(bare, max_tokens=2).usage.completion_tokens == 2)


# Token limit of an answer that would take 30 seconds.
TOKENS_MAX = 1500


@case("frees the only sequence when it aborts a stream")
def aborted(_):
    client = create_client(base_url("ONE_"), key("ONE_"))
    tiny = {"model": "svc-tiny", "messages": MESSAGES}
    # Without end tokens the model continues for 30 seconds.
    stream = client.chat.completions.create(
        **tiny, max_tokens=TOKENS_MAX, logit_bias={"0": -100, "2": -100}, stream=True
    )
    chunks = iter(stream)
    for _ in range(3):
        next(chunks)

    answered = []
    second = threading.Thread(
        target=lambda: answered.append(client.chat.completions.create(**tiny, max_tokens=2)), daemon=True
    )
    second.start()
    waiting_at = time.monotonic()
    for _ in range(10):
        next(chunks)
    token_s = (time.monotonic() - waiting_at) / 10
    expect(not answered, "the second request did not wait for the only sequence")

    aborted_at = time.monotonic()
    stream.close()
    second.join(REQUEST_S_MAX)
    expect(bool(answered), "the second request was not answered")
    # Relative to the speed of the machine: half of the time that the rest of the first answer would take.
    seconds_max = max(10, (TOKENS_MAX - 13) * token_s / 2)
    expect(time.monotonic() - aborted_at < seconds_max, "the second request waited for the end of the first")


if __name__ == "__main__":
    run(create_client(base_url(), key()))
