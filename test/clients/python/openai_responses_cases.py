"""Conversations and responses with the openai client for Python; started by openai-python-responses.test.ts."""

import asyncio
import json
import time

import openai
from cases import REQUEST_S_MAX, base_url, case, expect, expect_error, key, origin, run
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from engine_scripts import encode_tool_call, encode_script

REQUEST = {"model": "svc-plus", "reasoning": {"effort": "none"}}
HELLO = {**REQUEST, "input": encode_script("Hello ", "there.")}
# Outputs a text, and then hangs until it is cancelled.
HANGING = {**REQUEST, "input": encode_script("One ", {"hang": True})}
# Longest wait for a free conversation on a busy machine, in seconds. Shorter than the lease of a turn whose process died.
FREE_S_MAX = 10


class City(BaseModel):
    city: str


WEATHER = openai.pydantic_function_tool(City, name="get_weather")
CALL_REQUEST = {
    **REQUEST,
    "input": encode_script(encode_tool_call("get_weather", city="Paris")),
    "tools": [{"type": "function", **WEATHER["function"]}],
}
PARSED = {**REQUEST, "input": encode_script('{"city":', '"Paris"}'), "text_format": City}


def message(text, role="user"):
    return {"type": "message", "role": role, "content": text}


def get_text(item):
    return item.content[0].text if item.type == "message" else item.type


def create_result(call, *steps):
    return {"type": "function_call_output", "call_id": call.call_id, "output": encode_script(*steps)}


def get_only_call(response):
    (call,) = [item for item in response.output if item.type == "function_call"]
    return call


@case("creates, retrieves, updates and deletes a conversation")
def conversation(client):
    made = client.conversations.create(items=[message("Hello")], metadata={"topic": "tea"})
    expect(made.id.startswith("conv_") and made.object == "conversation", made)
    # The time is in milliseconds and within the last minute.
    expect(abs(made.created_at / 1000 - time.time()) < 60, made)
    expect(client.conversations.retrieve(made.id) == made, made)
    updated = client.conversations.update(made.id, metadata={"a": "b"})
    expect(updated.metadata == {"a": "b"} and updated.id == made.id, updated)
    deleted = client.conversations.delete(made.id)
    expect(deleted.deleted and deleted.id == made.id and deleted.object == "conversation.deleted", deleted)
    expect_error(openai.NotFoundError, lambda: client.conversations.retrieve(made.id))


@case("adds, retrieves and deletes an item of a conversation")
def items(client):
    made = client.conversations.create()
    call = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Paris"}'}
    result = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
    added = client.conversations.items.create(made.id, items=[message("Hello"), call, result])
    expect([added.first_id, added.last_id] == [added.data[0].id, added.data[-1].id] and not added.has_more, added)
    item = client.conversations.items.retrieve(added.data[1].id, conversation_id=made.id)
    expect(item == added.data[1] and item.arguments == call["arguments"] and item.call_id == "call_1", item)
    left = client.conversations.items.delete(added.data[0].id, conversation_id=made.id)
    expect(left.id == made.id, left)
    kinds = [each.type for each in client.conversations.items.list(made.id, order="asc")]
    expect(kinds == ["function_call", "function_call_output"], kinds)


@case("lists the items of a conversation page by page, from both ends and from any item")
def pages(client):
    texts = [f"Number {index}" for index in range(22)]
    made = client.conversations.create(items=[message(text) for text in texts[:20]])
    client.conversations.items.create(made.id, items=[message(text) for text in texts[20:]])
    listed = list(client.conversations.items.list(made.id, order="asc", limit=5))
    expect([get_text(item) for item in listed] == texts, listed)
    expect([get_text(item) for item in client.conversations.items.list(made.id)] == texts[::-1])
    page = client.conversations.items.list(made.id, order="asc", limit=2, after=listed[9].id)
    expect([get_text(item) for item in page.data] == texts[10:12] and page.has_more, page)


@case("gets a response, and retrieves it")
def plain(client):
    response = client.responses.create(**HELLO, metadata={"a": "b"}, instructions="Be brief.")
    expect(response.output_text == "Hello there." and response.status == "completed", response)
    expect(response.metadata == {"a": "b"} and response.instructions == "Be brief.", response)
    usage = response.usage
    expect(usage.total_tokens == usage.input_tokens + usage.output_tokens and usage.input_tokens > 0, usage)
    expect(client.responses.retrieve(response.id) == response, response)


@case("streams a response with the helper, which accumulates the events")
def helper(client):
    with client.responses.stream(**HELLO) as stream:
        events = list(stream)
        final = stream.get_final_response()
    received = [event.snapshot for event in events if event.type == "response.output_text.delta"]
    expect(received == ["Hello ", "Hello there."], received)
    (done,) = [event for event in events if event.type == "response.output_text.done"]
    expect(done.text == final.output_text == "Hello there.", done, final)
    expect(events[-1].type == "response.completed" and events[-1].response.id == final.id, events[-1])
    expect(client.responses.retrieve(final.id).output_text == final.output_text)


@case("streams the raw events")
def raw(client):
    events = list(client.responses.create(**HELLO, stream=True))
    expect([event.sequence_number for event in events] == list(range(len(events))), events)
    expect(events[0].type == "response.created" and events[-1].type == "response.completed", events)
    expect(events[0].response.id == events[-1].response.id, events)


@case("gets the thought before the answer")
def thought(client):
    request = {"model": "svc-plus", "input": encode_script("Easy", ".", "</think>", "Done."), "reasoning": {"effort": "high"}}
    with client.responses.stream(**request) as stream:
        streamed = stream.get_final_response()
    for response in (client.responses.create(**request), streamed):
        expect([item.type for item in response.output] == ["reasoning", "message"], response.output)
        expect(response.output[0].summary[0].text == "Easy.", response.output)
        expect(response.output_text.strip() == "Done.", response.output)
        expect(response.usage.output_tokens_details.reasoning_tokens > 0, response.usage)


@case("gets an incomplete response at the token limit")
def incomplete(client):
    request = {**REQUEST, "input": encode_script("a ", "b ", "c "), "max_output_tokens": 2}
    response = client.responses.create(**request)
    expect(response.status == "incomplete" and response.output_text == "a b ", response)
    expect(response.incomplete_details.reason == "max_output_tokens", response)
    # The helper waits for response.completed, so the test reads the last event.
    with client.responses.stream(**request) as stream:
        last = list(stream)[-1]
    expect(last.type == "response.incomplete" and last.response.output_text == "a b ", last)


@case("parses a response into a pydantic model")
def parsed(client):
    response = client.responses.parse(**PARSED)
    expect(response.output_parsed == City(city="Paris"), response)


@case("parses a response into a pydantic model at the end of a stream")
def parsed_stream(client):
    with client.responses.stream(**PARSED) as stream:
        events = list(stream)
        final = stream.get_final_response()
    (done,) = [event for event in events if event.type == "response.output_text.done"]
    expect(done.parsed == final.output_parsed == City(city="Paris"), done, final)


@case("parses the arguments of a pydantic function")
def parsed_arguments(client):
    request = {**CALL_REQUEST, "tools": [WEATHER]}
    response = client.responses.parse(**request)
    expect(get_only_call(response).parsed_arguments == City(city="Paris"), response)
    with client.responses.stream(**request) as stream:
        events = list(stream)
        final = stream.get_final_response()
    received = [event.snapshot for event in events if event.type == "response.function_call_arguments.delta"]
    expect(received[-1] == get_only_call(final).arguments, received)
    expect(get_only_call(final).parsed_arguments == City(city="Paris"), final)


@case("answers after the result of a tool, from the response and in a conversation")
def tool_loop(client):
    made = client.conversations.create()
    for source in ({}, {"conversation": made.id}):
        first = client.responses.create(**CALL_REQUEST, **source)
        call = get_only_call(first)
        expect(json.loads(call.arguments) == {"city": "Paris"} and call.name == "get_weather", call)
        next_source = source or {"previous_response_id": first.id}
        result = create_result(call, "It is sunny.")
        second = client.responses.create(**{**CALL_REQUEST, "input": [result]}, **next_source)
        expect(second.output_text == "It is sunny.", second)
    kinds = [item.type for item in client.conversations.items.list(made.id, order="asc")]
    expect(kinds == ["message", "function_call", "function_call_output", "message"], kinds)


@case("continues from a response with the same prompt as in one request")
def chain(client):
    first = client.responses.create(**CALL_REQUEST)
    result = create_result(get_only_call(first), "It is sunny.")
    tools = {**REQUEST, "tools": CALL_REQUEST["tools"]}
    second = client.responses.create(**tools, input=[result], previous_response_id=first.id)
    thanks = {"role": "user", "content": encode_script("You are welcome.")}
    third = client.responses.create(**tools, input=[thanks], previous_response_id=second.id)
    request = {"role": "user", "content": CALL_REQUEST["input"]}
    # The output items are sent back unchanged.
    history = [request, *first.output, result, *[item.model_dump() for item in second.output], thanks]
    flat = client.responses.create(**tools, input=history)
    expect(third.output_text == flat.output_text == "You are welcome.", third, flat)
    expect(third.usage.input_tokens == flat.usage.input_tokens, third.usage, flat.usage)


@case("lists the input items of a response, and counts its tokens")
def input_items(client):
    request = {**REQUEST, "input": [message(text) for text in "abcde"]}
    response = client.responses.create(**request)
    listed = list(client.responses.input_items.list(response.id, order="asc", limit=2))
    expect([get_text(item) for item in listed] == list("abcde"), listed)
    last = client.responses.input_items.list(response.id, limit=1).data
    expect(last == listed[-1:], last)
    counted = client.responses.input_tokens.count(**request)
    expect(counted.input_tokens == response.usage.input_tokens, counted, response.usage)


@case("deletes a response, which is then not found")
def deleted(client):
    response = client.responses.create(**HELLO)
    client.responses.delete(response.id)
    expect_error(openai.NotFoundError, lambda: client.responses.retrieve(response.id))
    passing = client.responses.create(**HELLO, store=False)
    expect_error(openai.NotFoundError, lambda: client.responses.retrieve(passing.id))


@case("raises NotFoundError for unknown ids")
def not_there(client):
    for call in (
        lambda: client.conversations.retrieve("conv_unknown"),
        lambda: client.conversations.items.list("conv_unknown"),
        lambda: client.responses.retrieve("resp_unknown"),
        lambda: client.responses.create(**HELLO, conversation="conv_unknown"),
        lambda: client.responses.create(**HELLO, previous_response_id="resp_unknown", stream=True),
    ):
        error = expect_error(openai.NotFoundError, call)
        expect(error.code == "not_found" and "_unknown" in error.message, error.body)


@case("raises BadRequestError for a conversation together with a previous response")
def both(client):
    sources = {"conversation": "conv_1", "previous_response_id": "resp_1"}
    error = expect_error(openai.BadRequestError, lambda: client.responses.create(**HELLO, **sources))
    expect(error.param == "previous_response_id" and error.code == "invalid_parameter_error", error.body)


def first_delta(stream):
    return next(event for event in stream if event.type == "response.output_text.delta")


@case("raises ConflictError while another response of the conversation runs")
def locked(client):
    made = client.conversations.create()
    with client.responses.create(**HANGING, conversation=made.id, stream=True) as stream:
        first_delta(stream)
        error = expect_error(
            openai.ConflictError, lambda: client.responses.create(**HELLO, conversation=made.id)
        )
    expect(error.code == "conversation_locked" and int(error.response.headers["retry-after"]) >= 1, error.body)


def retry_while_locked(call):
    deadline = time.monotonic() + FREE_S_MAX
    while True:
        try:
            return call()
        except openai.ConflictError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@case("stores nothing of a turn whose stream is closed")
def closed(client):
    made = client.conversations.create(items=[message("Hi")])
    with client.responses.stream(**HANGING, conversation=made.id) as stream:
        first_delta(stream)
    response = retry_while_locked(lambda: client.responses.create(**HELLO, conversation=made.id))
    texts = [get_text(item) for item in client.conversations.items.list(made.id, order="asc")]
    expect(texts == ["Hi", HELLO["input"], response.output_text], texts)


@case("gets a failure in mid-stream as the last event")
def failed(client):
    made = client.conversations.create()
    request = {**REQUEST, "input": encode_script("One ", {"fail": "engine-failed"}), "conversation": made.id}
    last = list(client.responses.create(**request, stream=True))[-1]
    expect(last.type == "response.failed" and last.response.error.message, last)
    expect(client.conversations.items.list(made.id).data == [], last)
    expect_error(openai.InternalServerError, lambda: client.responses.create(**request))


def wait_for_end(client, response):
    """Polls a response until it ends, as the guide of the client does."""
    until = time.monotonic() + REQUEST_S_MAX
    while response.status in ("queued", "in_progress") and time.monotonic() < until:
        time.sleep(0.05)
        response = client.responses.retrieve(response.id)
    return response


@case("polls a background response until it completes")
def background(client):
    made = client.conversations.create()
    queued = client.responses.create(**HELLO, background=True, conversation=made.id, metadata={"a": "b"})
    expect(queued.status == "queued" and queued.background and queued.output == [], queued)
    done = wait_for_end(client, queued)
    expect(done.status == "completed" and done.output_text == "Hello there." and done.background, done)
    expect(done.id == queued.id and done.metadata == {"a": "b"} and done.usage.total_tokens > 0, done)
    expect([item.role for item in client.conversations.items.list(made.id, order="asc")] == ["user", "assistant"])
    after = client.responses.create(**HELLO, background=True, previous_response_id=done.id)
    expect(wait_for_end(client, after).status == "completed", after)
    expect(client.responses.cancel(done.id) == done, done)


@case("closes a background stream, and resumes it")
def resumed(client):
    request = {**REQUEST, "input": encode_script("One ", {"delayMs": 200}, "two ", {"delayMs": 200}, "three.")}
    seen = []
    with client.responses.create(**request, background=True, stream=True) as stream:
        for event in stream:
            seen.append(event)
            if event.type == "response.output_text.delta":
                break
    kinds = [event.type for event in seen[:3]]
    expect(kinds == ["response.created", "response.queued", "response.in_progress"], kinds)
    id, last = seen[0].response.id, seen[-1].sequence_number
    rest = list(client.responses.retrieve(id, stream=True, starting_after=last))
    numbers = [event.sequence_number for event in seen + rest]
    expect(numbers == list(range(len(numbers))), numbers)
    text = "".join(event.delta for event in seen + rest if event.type == "response.output_text.delta")
    expect(text == "One two three." and rest[-1].type == "response.completed", text, rest[-1])
    expect(rest[-1].response.output_text == client.responses.retrieve(id).output_text == text, rest[-1])
    expect(list(client.responses.retrieve(id, stream=True)) == seen + rest)
    expect(list(client.responses.retrieve(id, stream=True, starting_after=numbers[-1])) == [])


@case("resumes a background stream with the helper")
def resumed_by_helper(client):
    with client.responses.stream(**HELLO, background=True) as stream:
        first = next(iter(stream))
    with client.responses.stream(response_id=first.response.id, starting_after=5) as stream:
        events = list(stream)
        final = stream.get_final_response()
    expect(final.output_text == "Hello there." and final.status == "completed", final)
    expect([event.sequence_number for event in events] == list(range(6, 6 + len(events))) and events, events)


@case("cancels a background response, which ends its stream")
def cancelled(client):
    made = client.conversations.create()
    with client.responses.create(**HANGING, background=True, stream=True, conversation=made.id) as stream:
        seen = []
        for event in stream:
            seen.append(event)
            if event.type == "response.output_text.delta":
                received = client.responses.cancel(seen[0].response.id)
    expect(received.status == "cancelled" and received.error is None, received)
    expect(seen[-1].type == "response.incomplete" and seen[-1].response == received, seen[-1])
    expect(client.responses.cancel(received.id) == client.responses.retrieve(received.id) == received, received)
    with client.responses.stream(response_id=received.id) as stream:
        expect(list(stream)[-1].response.status == "cancelled")
    retry_while_locked(lambda: client.responses.create(**HELLO, conversation=made.id))
    expect([item.role for item in client.conversations.items.list(made.id, order="asc")] == ["user", "assistant"])
    live = client.responses.create(**HELLO)
    expect_error(openai.BadRequestError, lambda: client.responses.cancel(live.id))
    expect_error(openai.BadRequestError, lambda: client.responses.retrieve(live.id, stream=True))
    client.responses.delete(received.id)
    expect_error(openai.NotFoundError, lambda: client.responses.retrieve(received.id))


@case("may use the deprecated path")
def old_path(client):
    old = client.with_options(base_url=origin() + "/api/v2/apps/protocols/compatible-mode/v1")
    raw_response = old.responses.with_raw_response.create(**HELLO)
    expect("successor-version" in raw_response.headers["link"], raw_response.headers)
    expect(raw_response.headers["deprecation"].startswith("@"), raw_response.headers)
    response = raw_response.parse()
    expect(old.responses.retrieve(response.id) == client.responses.retrieve(response.id), response)
    with old.responses.stream(**HELLO, previous_response_id=response.id) as stream:
        expect(stream.get_final_response().previous_response_id == response.id)


def asynchronously(work):
    async def session():
        async with AsyncOpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=REQUEST_S_MAX) as client:
            await work(client)

    return lambda _: asyncio.run(session())


async def everything(client):
    made = await client.conversations.create(metadata={"topic": "tea"})
    first = await client.responses.create(**CALL_REQUEST, conversation=made.id)
    result = create_result(get_only_call(first), "It is sunny.")
    second = await client.responses.create(**{**CALL_REQUEST, "input": [result]}, conversation=made.id)
    expect(second.output_text == "It is sunny.", second)
    listed = [item async for item in client.conversations.items.list(made.id, order="asc", limit=1)]
    expect([item.type for item in listed][1:3] == ["function_call", "function_call_output"], listed)
    expect((await client.conversations.items.retrieve(listed[0].id, conversation_id=made.id)) == listed[0])
    expect((await client.responses.parse(**PARSED)).output_parsed == City(city="Paris"))
    expect((await client.responses.retrieve(second.id)) == second, second)
    request = [item async for item in client.responses.input_items.list(second.id)]
    expect([item.type for item in request] == ["function_call_output"], request)
    await client.responses.delete(second.id)
    await client.conversations.delete(made.id)
    for pending in (client.responses.retrieve(second.id), client.conversations.retrieve(made.id)):
        try:
            expect(False, await pending)
        except openai.NotFoundError as error:
            expect(error.code == "not_found", error.body)


async def streaming(client):
    async with client.responses.stream(**PARSED) as stream:
        received = [event.delta async for event in stream if event.type == "response.output_text.delta"]
        final = await stream.get_final_response()
    expect("".join(received) == final.output_text and final.output_parsed == City(city="Paris"), received)

    made = await client.conversations.create()
    stream = await client.responses.create(**HANGING, conversation=made.id, stream=True)
    async for event in stream:
        if event.type == "response.output_text.delta":
            break
    await stream.close()
    deadline = time.monotonic() + FREE_S_MAX
    while True:
        try:
            await client.responses.create(**HELLO, conversation=made.id)
            break
        except openai.ConflictError:
            expect(time.monotonic() < deadline, "the conversation is not free")
            await asyncio.sleep(0.05)
    texts = [get_text(item) async for item in client.conversations.items.list(made.id, order="asc")]
    expect(texts == [HELLO["input"], "Hello there."], texts)


case("works asynchronously")(asynchronously(everything))
case("streams asynchronously, and closes a stream early")(asynchronously(streaming))


if __name__ == "__main__":
    run(OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=REQUEST_S_MAX))
