"""dashscope.Client and AsyncClient of 2.x; started by dashscope-python-client.test.ts.

Environment in addition to that of cases.py: SCRIPTED_ADDRESS and SCRIPTED_KEY of a Parley with the scripted engine.
"""

import asyncio
import json

from cases import REQUEST_S_MAX, base_url, case, expect, expect_error, key, origin, run
from dashscope import AsyncClient, Client, TextReRank
from dashscope.v2 import errors
from models import WEATHER_QUESTION, WEATHER_RESULT, GetWeather

MODEL = "svc-plus"
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "description": "", "parameters": GetWeather.model_json_schema()},
}
FORCED = {"type": "function", "function": {"name": "get_weather"}}
COUNT = ["One", ", two", ", three"]
COUNT_TEXT = "".join(COUNT)
# A pause between steps, so that a stream has more than one event. Texts without a pause may arrive in one event.
PAUSE = {"delayMs": 100}


def encode_script(*steps):
    return "script:" + json.dumps(steps)


PACED_COUNT = encode_script(*(step for token in COUNT for step in (token, PAUSE)))
SCRIPTED_COUNT = encode_script(*COUNT)


def options(protocol, prefix):
    roots = {"native": origin(prefix) + "/api/v1", "anthropic": origin(prefix) + "/apps/anthropic"}
    return {"base_url": roots.get(protocol, base_url(prefix)), "api_key": key(prefix), "protocol": protocol, "max_retries": 0, "timeout": REQUEST_S_MAX}


CLIENTS = {
    (protocol, prefix): Client(**options(protocol, prefix))
    for protocol in ("native", "openai", "anthropic")
    for prefix in ("", "SCRIPTED_")
}
native = CLIENTS["native", "SCRIPTED_"]


def ask(client, messages=SCRIPTED_COUNT, **more):
    return client.chat.completions.create(**{"model": MODEL, "messages": messages, **more})


def ask_model(protocol, messages=WEATHER_QUESTION, **more):
    # Greedy sampling, so that two calls can be compared; short, because the machine is slow.
    return ask(CLIENTS[protocol, ""], messages, **{"temperature": 0, "max_tokens": 80, **more})


def protocol_case(name, *others):
    """Declares one case for each protocol, which is the argument of the function. Native and openai are always included."""

    def add(function):
        for protocol in ("native", "openai", *others):
            case(f"{name}, {protocol}")(lambda _, protocol=protocol: function(protocol))

    return add


def expect_usage(usage):
    expect(usage.input_tokens > 0 and usage.output_tokens > 0, usage)
    expect(usage.total_tokens == usage.input_tokens + usage.output_tokens, usage)


@protocol_case("gets an answer", "anthropic")
def answer(protocol):
    whole = ask(CLIENTS[protocol, "SCRIPTED_"])
    expect(whole.output_text == COUNT_TEXT and whole.choices[0].finish_reason == "stop", whole)
    expect(not whole.is_error and whole.headers["x-request-id"], whole)
    if protocol == "native":
        expect(whole.request_id == whole.headers["x-request-id"], whole)
    expect_usage(whole.usage)


@protocol_case("gets a stream in pieces", "anthropic")
def streamed(protocol):
    stream = ask(CLIENTS[protocol, "SCRIPTED_"], PACED_COUNT, stream=True)
    chunks = list(stream)
    texts = [chunk.delta.content for chunk in chunks if chunk.delta and chunk.delta.content]
    expect(len(texts) > 2 and "".join(texts) == COUNT_TEXT, texts)
    expect(stream.headers["content-type"].startswith("text/event-stream"), stream.headers)
    expect_usage(chunks[-1].usage)
    # Of the messages protocol, only the first event has a request id.
    expect(len({chunk.request_id for chunk in chunks if chunk.request_id}) == 1, chunks)


@protocol_case("collects a stream", "anthropic")
def collected(protocol):
    client = CLIENTS[protocol, "SCRIPTED_"]
    for more in ({}, {"incremental_output": False}):
        final = ask(client, PACED_COUNT, stream=True, **more).get_final_message()
        expect(final.output_text == COUNT_TEXT and final.choices[0].finish_reason == "stop", more, final)
        expect_usage(final.usage)
    received = list(ask(client, PACED_COUNT, stream=True, incremental_output=False).text_stream)
    expect(received == sorted(received, key=len) and received[-1] == COUNT_TEXT, received)


@case("accepts cumulative answers of the server")
def cumulative(_):
    stream = ask(native, PACED_COUNT, stream=True, parameters={"incremental_output": False})
    chunks = list(stream)
    received = [chunk.delta.content for chunk in chunks]
    expect(len(received) > 2 and received == sorted(received, key=len) and received[-1] == COUNT_TEXT, received)


@protocol_case("gets two choices")
def choices(protocol):
    client = CLIENTS[protocol, "SCRIPTED_"]
    whole = ask(client, n=2)
    expect([choice.index for choice in whole.choices] == [0, 1], whole)
    final = ask(client, PACED_COUNT, n=2, stream=True).get_final_message()
    expect([choice.message.content for choice in final.choices] == [COUNT_TEXT, COUNT_TEXT], final)


@protocol_case("gets an answer that ends before a stop string", "anthropic")
def stopped(protocol):
    whole = ask(CLIENTS[protocol, "SCRIPTED_"], stop=[" three"])
    expect(whole.output_text == "One, two," and whole.choices[0].finish_reason == "stop", whole)


@protocol_case("gets log probabilities")
def logprobs(protocol):
    client, how = CLIENTS[protocol, "SCRIPTED_"], {"logprobs": True, "top_logprobs": 2}
    tokens = ask(client, **how).choices[0].logprobs["content"]
    expect("".join(token["token"] for token in tokens) == COUNT_TEXT, tokens)
    final = ask(client, PACED_COUNT, stream=True, **how).get_final_message()
    streamed = [token["token"] for token in final.choices[0].logprobs["content"]]
    expect(streamed == [token["token"] for token in tokens], final)


@protocol_case("accepts messages in parts", "anthropic")
def parts(protocol):
    content = [{"type": "text", "text": "Good "}, {"text": "evening", "cache_control": {"type": "ephemeral"}}]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}]
    whole = ask(CLIENTS[protocol, "SCRIPTED_"], messages)
    expect("Good evening" in whole.output_text, whole)


@case("gets an answer on the multimodal path")
def multimodal(_):
    create = native.multimodal.chat.create
    expect(create(model=MODEL, messages=SCRIPTED_COUNT).output_text == COUNT_TEXT)
    messages = [{"role": "user", "content": [{"text": PACED_COUNT}]}]
    final = create(model=MODEL, messages=messages, stream=True).get_final_message()
    expect(final.output_text == COUNT_TEXT, final)


def expect_refusal(protocol, kind, status, code, call):
    error = expect_error(kind, call)
    # expect_error also accepts subclasses.
    expect(type(error) is kind and error.status_code == status, protocol, repr(error), str(error))
    expect(error.code == code[protocol] and error.message and error.request_id, protocol, str(error))
    return error


@protocol_case("with a wrong key raises AuthenticationError", "anthropic")
def wrong_key(protocol):
    code = {"native": "InvalidApiKey", "openai": "invalid_api_key", "anthropic": "authentication_error"}
    for stream in (False, True):
        expect_refusal(
            protocol,
            errors.AuthenticationError,
            401,
            code,
            lambda: ask(CLIENTS[protocol, "SCRIPTED_"], api_key="sk-unknown-key", stream=stream),
        )


@protocol_case("with an unknown model raises NotFoundError", "anthropic")
def unknown_model(protocol):
    code = {"native": "ModelNotFound", "openai": "model_not_found", "anthropic": "not_found_error"}
    for stream in (False, True):
        call = lambda: ask(CLIENTS[protocol, "SCRIPTED_"], model="no-such-model", stream=stream)  # noqa: E731
        expect_refusal(protocol, errors.NotFoundError, 404, code, call)


@protocol_case("with a temperature of 3 raises BadRequestError, which names it", "anthropic")
def bad_parameter(protocol):
    code = {
        "native": "InvalidParameter",
        "openai": "invalid_parameter_error",
        "anthropic": "invalid_request_error",
    }
    call = lambda: ask(CLIENTS[protocol, "SCRIPTED_"], temperature=3)  # noqa: E731
    error = expect_refusal(protocol, errors.BadRequestError, 400, code, call)
    expect("temperature should be in [0.0, 2.0)" in error.message.lower() or protocol == "anthropic", error)
    expect("temperature" in error.message.lower(), error)


@case("for another workspace raises PermissionDeniedError")
def workspace(_):
    expect(ask(native, workspace="primary").output_text == COUNT_TEXT)
    expect_refusal(
        "native",
        errors.PermissionDeniedError,
        403,
        {"native": "Workspace.AccessDenied"},
        lambda: ask(native, workspace="another-workspace"),
    )


@case("may get an error as a value")
def as_value(_):
    quiet = native.with_options(raise_on_error=False)
    whole = ask(quiet, model="no-such-model")
    expect(whole.is_error and (whole.status_code, whole.code) == (404, "ModelNotFound"), whole)
    expect(bool(whole.message) and whole.request_id == whole.headers["x-request-id"], whole)


@case("gets a failure before the first event with its status")
def failed(_):
    call = lambda: ask(native, encode_script({"fail": "engine-failed"}))  # noqa: E731
    expect_refusal("native", errors.InternalServerError, 500, {"native": "InternalError"}, call)


@protocol_case("raises a failure in mid-stream", "anthropic")
def failed_later(protocol):
    breaking = encode_script("One", PAUSE, {"fail": "engine-failed"})
    received = []

    def read():
        for chunk in ask(CLIENTS[protocol, "SCRIPTED_"], breaking, stream=True):
            received.append(chunk.delta.content or "" if chunk.delta else "")

    error = expect_error(errors.DashScopeError, read)
    expect("".join(received) == "One" and error.message and error.request_id, received, str(error))
    if protocol == "native":
        expect(type(error) is errors.InternalServerError and error.code == "InternalError", str(error))


@protocol_case("works asynchronously", "anthropic")
def asynchronous(protocol):
    async def all_of_it():
        async with AsyncClient(**options(protocol, "SCRIPTED_")) as client:
            whole = await ask(client)
            expect(whole.output_text == COUNT_TEXT, whole)
            stream = await ask(client, PACED_COUNT, stream=True)
            expect("".join([text async for text in stream.text_stream]) == COUNT_TEXT)
            stream = await ask(client, PACED_COUNT, stream=True, incremental_output=False)
            expect((await stream.get_final_message()).output_text == COUNT_TEXT)
            try:
                await ask(client, model="no-such-model")
                raise AssertionError("NotFoundError was not raised")
            except errors.NotFoundError as error:
                expect(bool(error.request_id), error)

    asyncio.run(all_of_it())


@protocol_case("calls a tool, and answers after its result")
def tools(protocol):
    question = {"role": "user", "content": WEATHER_QUESTION}
    # The call is forced, because the smallest model does not always call the tool.
    whole = ask_model(protocol, [question], tools=[WEATHER], tool_choice=FORCED)
    message = whole.choices[0].message
    (call,) = message.tool_calls
    expect(call.function.name == "get_weather" and call.id and call.type == "function", whole)
    GetWeather.model_validate_json(call.function.arguments)
    expect(whole.choices[0].finish_reason == "tool_calls", whole)
    result = {"role": "tool", "content": WEATHER_RESULT, "tool_call_id": call.id}
    after = ask_model(protocol, [question, message.model_dump(), result], tools=[WEATHER], max_tokens=32)
    expect(after.output_text or after.choices[0].message.tool_calls, after)


@protocol_case("joins the pieces of a tool call")
def tools_streamed(protocol):
    how = {"tools": [WEATHER], "tool_choice": FORCED, "stream": True}
    pieces = [piece for calls in ask_model(protocol, **how).tool_call_stream for piece in calls]
    expect(len(pieces) > 1 and all(piece.index == 0 for piece in pieces), pieces)
    for more in ({}, {"incremental_output": False}):
        final = ask_model(protocol, **how, **more).get_final_message()
        (call,) = final.choices[0].message.tool_calls
        expect(call.function.name == "get_weather" and call.id, more, final)
        GetWeather.model_validate_json(call.function.arguments)
        expect(final.choices[0].finish_reason == "tool_calls", more, final)


@protocol_case("gets the thought separate from the answer")
def thinking(protocol):
    how = {"messages": "Is 7 a prime number?", "enable_thinking": True, "thinking_budget": 12, "max_tokens": 16}
    # Computing a cached prompt rounds otherwise than a new one, so the compared answers all come after the first.
    ask_model(protocol, **how)
    message = ask_model(protocol, **how).choices[0].message
    expect(bool(message.reasoning_content), message)
    for more in ({}, {"incremental_output": False}):
        final = ask_model(protocol, **how, **more, stream=True).get_final_message().choices[0].message
        expect(final.reasoning_content == message.reasoning_content, more, final, message)
        expect((final.content or "") == (message.content or ""), more, final, message)
    thoughts = list(ask_model(protocol, **how, stream=True).reasoning_stream)
    expect("".join(thoughts) == message.reasoning_content, thoughts)


@case("calls scripted tools, and answers after their results, anthropic")
def tools_messages(_):
    client = CLIENTS["anthropic", "SCRIPTED_"]
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    question = {"role": "user", "content": encode_script(call, PAUSE, "\n" + call.replace("Paris", "Rome"))}
    how = {"tools": [WEATHER], "tool_choice": "auto"}
    whole = ask(client, [question], **how)
    final = ask(client, [question], stream=True, **how).get_final_message()
    for answer in (whole, final):
        calls = answer.choices[0].message.tool_calls
        cities = [GetWeather.model_validate_json(call.function.arguments).city for call in calls]
        expect(cities == ["Paris", "Rome"] and answer.choices[0].finish_reason == "tool_calls", answer)
        results = [{"role": "tool", "content": "sunny", "tool_call_id": call.id} for call in calls]
        following = [answer.choices[0].message.model_dump(), *results, {"role": "user", "content": SCRIPTED_COUNT}]
        expect(ask(client, [question, *following], **how).output_text == COUNT_TEXT)


@case("gets a scripted thought separate from the answer, and sends it back, anthropic")
def thinking_messages(_):
    client = CLIENTS["anthropic", "SCRIPTED_"]
    question = {"role": "user", "content": encode_script("It is easy.", PAUSE, "</think>", "7.")}
    how = {"parameters": {"thinking": {"type": "enabled", "budget_tokens": 50}}, "max_tokens": 64}
    whole = ask(client, [question], **how)
    final = ask(client, [question], stream=True, **how).get_final_message()
    for answer in (whole, final):
        message = answer.choices[0].message
        expect((message.reasoning_content.strip(), answer.output_text.strip()) == ("It is easy.", "7."), answer)
        expect(message.reasoning_signature, answer)
        following = [message.model_dump(), {"role": "user", "content": SCRIPTED_COUNT}]
        expect(ask(client, [question, *following]).output_text == COUNT_TEXT)


@case("gets embeddings")
def embeddings(_):
    create = CLIENTS["native", ""].embeddings.create
    two = create(model="svc-embed", input=["The sea is blue.", "Bread"], text_type="query")
    expect([item.index for item in two.embeddings] == [0, 1], two)
    expect(len(two.embeddings[0].embedding) == len(two.embeddings[1].embedding) > 0, two)
    expect(two.usage.total_tokens > 0 and two.request_id, two)
    expect_error(errors.BadRequestError, lambda: create(model="svc-embed", input=["text"] * 11))


@case("gets documents ordered by relevance, also with the 1.x call")
def rerank(_):
    ranking = {"query": "what colour is the sea", "documents": ["cats chase mice", "the sea is blue", "what is bread"]}
    ranked = CLIENTS["native", ""].rerank.create(model="qwen3-rerank", **ranking)
    expect([each.index for each in ranked.results] == [1, 2, 0] and ranked.results[0].document is None, ranked)
    scores = [each.relevance_score for each in ranked.results]
    expect(1 > scores[0] > scores[1] > scores[2] > 0 and ranked.usage.total_tokens > 0 and ranked.request_id, ranked)

    async def best():
        async with AsyncClient(**options("native", "")) as client:
            how = {"top_n": 1, "return_documents": True, "instruct": "Find facts."}
            return await client.rerank.create(model="gte-rerank-v2", **ranking, **how)

    (only,) = asyncio.run(best()).results
    expect((only.index, only.relevance_score, only.document.text) == (1, scores[0], "the sea is blue"), only)
    long = {"model": "svc-rerank", "query": "sea", "documents": ["blue", "bread " * 300]}
    error = expect_error(errors.BadRequestError, lambda: CLIENTS["native", ""].rerank.create(**long))
    expect("input.documents[1]" in error.message, error)

    old_call = TextReRank.call(
        model=TextReRank.Models.qwen3_rerank,
        **ranking,
        return_documents=True,
        api_key=key(),
        base_address=origin() + "/api/v1",
    )
    expect(old_call.status_code == 200 and old_call.usage.total_tokens == ranked.usage.total_tokens, old_call)
    expect([each.relevance_score for each in old_call.output.results] == scores, old_call)
    texts = [each["document"]["text"] for each in old_call.output.results]
    expect(texts == [ranking["documents"][at] for at in (1, 2, 0)], texts)


@case("counts tokens")
def tokenizer(_):
    count = CLIENTS["native", ""].tokenization.count
    by_prompt = count(model=MODEL, prompt="The sea is blue.")
    expect(by_prompt.input_tokens == len(by_prompt.token_ids) == len(by_prompt.tokens) > 0, by_prompt)
    by_messages = count(model=MODEL, messages="The sea is blue.")
    expect(by_messages.input_tokens >= by_prompt.input_tokens, by_messages)


@case("lists the models and gets one")
def models(_):
    listed = native.models.list(page_no=1, page_size=2)
    expect(len(listed.models) == 2 and listed.total_count > 2 and listed.page_size == 2, listed)
    expect(native.models.get(MODEL).model == MODEL)
    expect_error(errors.NotFoundError, lambda: native.models.get("no-such-model"))


@case("gets status UNKNOWN for an unknown task, and cannot cancel it")
def tasks(_):
    jobs = native.embeddings.jobs
    expect(jobs.fetch("no-such-task").status == "UNKNOWN")
    error = expect_error(errors.BadRequestError, lambda: jobs.cancel("no-such-task"))
    expect(error.code == "UnsupportedOperation", error)
    expect(jobs.list().tasks == [])


@case("gets an error or an empty list for what is not served")
def not_served(_):
    expect(native.fine_tunes.list().jobs == [])
    expect_error(errors.NotFoundError, lambda: native.fine_tunes.get("no-such-job"))
    rank = {"model": "no-such-model", "query": "sea", "documents": ["blue", "bread"]}
    error = expect_error(errors.DashScopeError, lambda: native.rerank.create(**rank))
    expect(error.status_code in (400, 404) and error.code and error.message, error)


if __name__ == "__main__":
    run(None)
