"""The anthropic client for Python, started by anthropic-python.test.ts."""

import asyncio
import json

import anthropic
from anthropic import Anthropic, AsyncAnthropic, beta_tool
from cases import REQUEST_S_MAX, case, expect, expect_error, key, origin, run

MODEL = "svc-plus"
# A pause between steps, so that a stream has more than one event.
PAUSE = {"delayMs": 30}
COUNT = ["One", ", two", ", three"]
PACED_COUNT = [step for piece in COUNT for step in (piece, PAUSE)]
COUNT_TEXT = "".join(COUNT)
WEATHER = {
    "name": "get_weather",
    "description": "Get the weather in a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
THINKING = {"type": "enabled", "budget_tokens": 1024}


def script(*steps):
    return "script:" + json.dumps(steps)


def encode_tool_call(name, **arguments):
    return "<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>"


def user(content):
    return {"role": "user", "content": content}


def options(**more):
    return {"base_url": origin() + "/apps/anthropic", "api_key": key(), "max_retries": 0, "timeout": REQUEST_S_MAX, **more}


def create_request(*steps, **more):
    return {"model": MODEL, "max_tokens": 64, "messages": [user(script(*steps))], **more}


def get_text(message):
    return "".join(block.text for block in message.content if block.type == "text")


def get_calls(message):
    return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


@case("gets an answer")
def answer(client):
    message = client.messages.create(**create_request(*COUNT))
    expect(get_text(message) == COUNT_TEXT and message.stop_reason == "end_turn", message)
    expect(message.stop_sequence is None and message.model == MODEL and message.role == "assistant", message)
    usage = message.usage
    expect(usage.input_tokens > 0 and usage.output_tokens == 3, usage)
    expect(usage.cache_read_input_tokens == 0 and usage.cache_creation_input_tokens == 0, usage)
    expect(message.id == f"msg_{message._request_id}", message.id)


@case("may send its key in either header, with any beta name")
def keys(client):
    bearer = Anthropic(**options(api_key=None, auth_token=key()))
    expect(get_text(bearer.messages.create(**create_request("Hi"))) == "Hi")
    betas = ["interleaved-thinking-2025-05-14", "of-tomorrow"]
    expect(get_text(client.beta.messages.create(**create_request("Hi"), betas=betas)) == "Hi")


@case("gets raw events of a stream")
def events(client):
    kinds = [event.type for event in client.messages.create(**create_request(*PACED_COUNT), stream=True)]
    deltas = ["content_block_delta"] * 3
    expect(
        kinds
        == ["message_start", "content_block_start", *deltas, "content_block_stop", "message_delta", "message_stop"],
        kinds,
    )


@case("collects a stream, and reports each delta")
def streamed(client):
    plain = client.messages.create(**create_request(*COUNT))
    with client.messages.stream(**create_request(*PACED_COUNT)) as stream:
        received = list(stream.text_stream)
        message = stream.get_final_message()
    expect(received == COUNT, received)
    expect(message.content[0].text == get_text(plain) and message.stop_reason == plain.stop_reason, message)
    expect(message.usage.output_tokens == 3 and message.usage.input_tokens > 0, message.usage)
    with client.messages.stream(**create_request(*PACED_COUNT)) as stream:
        kinds = {event.type for event in stream}
    expect({"text", "content_block_stop", "message_stop"} <= kinds, kinds)


def whole_and_streamed(client, **more):
    """Yields the whole answer and the answer collected from a stream."""
    yield client.messages.create(**more)
    with client.messages.stream(**more) as stream:
        yield stream.get_final_message()


@case("gets the stop sequence that ended the answer, streamed or not")
def stopped(client):
    for message in whole_and_streamed(client, **create_request(*PACED_COUNT, stop_sequences=["nine", ", three"])):
        expect(get_text(message) == "One, two", message)
        expect((message.stop_reason, message.stop_sequence) == ("stop_sequence", ", three"), message)


@case("gets max_tokens as the reason that ended the answer, streamed or not")
def cut(client):
    for message in whole_and_streamed(client, **create_request(*PACED_COUNT, max_tokens=2)):
        expect(get_text(message) == "One, two" and message.stop_reason == "max_tokens", message)


@case("may prefill the answer, with a system prompt in blocks")
def prefill(client):
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    messages = [user(script(*COUNT)), {"role": "assistant", "content": "Zero, "}]
    message = client.messages.create(**create_request(messages=messages, system=system) | {"messages": messages})
    expect(get_text(message) == COUNT_TEXT, message)


@case("gets a thought before the answer, and may send it back")
def thought(client):
    question = create_request("It is ", "easy.", "</think>", "7.", thinking=THINKING)
    plain, streamed = whole_and_streamed(client, **question)
    for message in (plain, streamed):
        first, second = message.content
        expect((first.type, first.thinking.strip()) == ("thinking", "It is easy."), message)
        expect(first.signature == plain.content[0].signature and first.signature, message)
        expect((second.type, second.text.strip()) == ("text", "7."), message)
    messages = [user("3 + 4?"), {"role": "assistant", "content": plain.content}, user(script("Yes."))]
    raw = client.messages.with_raw_response.create(**question | {"messages": messages})
    expect("x-parley-ignored" not in raw.headers and raw.parse().content, raw.headers)


@case("gets several tool calls with inputs in pieces, and sends their results")
def tools(client):
    calls = [encode_tool_call("get_weather", city="Paris"), "\n", encode_tool_call("get_weather", city="Rome")]
    question = create_request(*calls, tools=[WEATHER])
    expected = [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"})]
    for message in whole_and_streamed(client, **question):
        expect(get_calls(message) == expected and message.stop_reason == "tool_use", message)
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": [{"type": "text", "text": "sunny"}]}
        for block in message.content
        if block.type == "tool_use"
    ]
    messages = [
        *question["messages"],
        {"role": "assistant", "content": message.content},
        user([*results, {"type": "text", "text": script("Sunny in both.")}]),
    ]
    last = client.messages.create(**question | {"messages": messages})
    expect(get_text(last) == "Sunny in both." and last.stop_reason == "end_turn", last)
    one = client.messages.create(**question, tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    expect(len(get_calls(one)) == 1, one)


@case("runs a tool loop with the tool runner, streaming or not")
def runner(client):
    for stream in (False, True):
        cities = []

        @beta_tool
        def get_weather(city: str) -> str:
            """Get the weather in a city."""
            cities.append(city)
            # The result of the tool is the script of the model's next answer.
            following = encode_tool_call("get_weather", city="Rome") if len(cities) == 1 else "Sunny in both."
            return "\n" + script(following) + "\n"

        loop = client.beta.messages.tool_runner(
            **create_request(encode_tool_call("get_weather", city="Paris"), tools=[get_weather], stream=stream)
        )
        last = loop.until_done()
        expect(cities == ["Paris", "Rome"], cities)
        expect("".join(block.text for block in last.content if block.type == "text") == "Sunny in both.", last)


@case("counts the same input tokens as an answer reports")
def counted(client):
    question = {key: value for key, value in create_request("Hi").items() if key != "max_tokens"}
    question |= {"system": "Be brief.", "tools": [WEATHER], "thinking": THINKING}
    usage = client.messages.create(**question, max_tokens=64).usage
    expect(client.messages.count_tokens(**question).input_tokens == usage.input_tokens, usage)
    expect(client.beta.messages.count_tokens(**question).input_tokens == usage.input_tokens, usage)


@case("lists the models, page by page, and gets one")
def models(client):
    ids = [model.id for model in client.models.list(limit=2)]
    expect(MODEL in ids and len(ids) == len(set(ids)), ids)
    model = client.models.retrieve(MODEL)
    expect((model.id, model.type, model.created_at.year >= 2024) == (MODEL, "model", True), model)
    expect_error(anthropic.NotFoundError, lambda: client.models.retrieve("no-such-model"))


@case("raises the exception class of each error, streamed or not")
def refused(client):
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    long = [user("long " * 4000)]
    for kind, status, error_type, more in (
        (anthropic.NotFoundError, 404, "not_found_error", {"model": "no-such-model"}),
        (anthropic.BadRequestError, 400, "invalid_request_error", {"stop_sequences": [""]}),
        (anthropic.BadRequestError, 400, "invalid_request_error", {"messages": [user([image])]}),
        (anthropic.BadRequestError, 400, "invalid_request_error", {"messages": long}),
        (anthropic.InternalServerError, 500, "api_error", create_request({"fail": "engine-failed"})),
        (anthropic.RateLimitError, 429, "rate_limit_error", create_request({"fail": "rate-limited"})),
    ):
        for stream in (False, True):
            question = create_request("Hi") | more | {"stream": stream}
            error = expect_error(kind, lambda: client.messages.create(**question))
            expect((error.status_code, error.body["error"]["type"]) == (status, error_type), str(error))
            expect(error.request_id and error.body["error"]["message"], str(error))
    client_with_wrong_key = Anthropic(**options(api_key="sk-unknown-key"))
    error = expect_error(anthropic.AuthenticationError, lambda: client_with_wrong_key.messages.create(**create_request("Hi")))
    expect(error.body["error"]["type"] == "authentication_error", str(error))


@case("retries an overloaded service, and raises a failure in mid-stream")
def failing(client):
    retrying_client = Anthropic(**options(max_retries=1))
    request = create_request({"fail": "overloaded"})
    error = expect_error(anthropic.APIStatusError, lambda: retrying_client.messages.create(**request))
    expect((error.status_code, error.body["error"]["type"]) == (503, "overloaded_error"), str(error))
    expect(error.response.request.headers["x-stainless-retry-count"] == "1", error.response.request.headers)
    received = []

    def read():
        with client.messages.stream(**create_request("One", PAUSE, {"fail": "overloaded"})) as stream:
            for text in stream.text_stream:
                received.append(text)

    error = expect_error(anthropic.APIStatusError, read)
    expect(received == ["One"] and error.body["error"]["type"] == "overloaded_error", received, str(error))


@case("works asynchronously")
def asynchronous(_):
    async def all_of_it():
        async with AsyncAnthropic(**options()) as client:
            expect(get_text(await client.messages.create(**create_request(*COUNT))) == COUNT_TEXT)
            async with client.messages.stream(**create_request(*PACED_COUNT)) as stream:
                expect("".join([text async for text in stream.text_stream]) == COUNT_TEXT)
            expect(MODEL in [model.id async for model in client.models.list()])

    asyncio.run(all_of_it())


run(Anthropic(**options()))
