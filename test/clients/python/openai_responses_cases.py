"""Conversations and responses with the openai client for Python, started by openai-python-responses.test.ts."""

import asyncio
import json
import time

import openai
from cases import REQUEST_S_MAX, base_url, case, expect, expect_error, key, origin, run
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from scripts import call_of, says

ASKED = {"model": "svc-plus", "reasoning": {"effort": "none"}}
HELLO = {**ASKED, "input": says("Hello ", "there.")}
# It says something, and then nothing until it is cancelled.
HANGING = {**ASKED, "input": says("One ", {"hang": True})}
# Until a conversation is free again, in seconds: at once, but the machine may be busy. A dead turn would hold it longer.
FREE_S_MAX = 10


class City(BaseModel):
    city: str


WEATHER = openai.pydantic_function_tool(City, name="get_weather")
CALLING = {
    **ASKED,
    "input": says(call_of("get_weather", city="Paris")),
    "tools": [{"type": "function", **WEATHER["function"]}],
}
PARSED = {**ASKED, "input": says('{"city":', '"Paris"}'), "text_format": City}


def message(text, role="user"):
    return {"type": "message", "role": role, "content": text}


def text_of(item):
    return item.content[0].text if item.type == "message" else item.type


def result_of(call, *steps):
    return {"type": "function_call_output", "call_id": call.call_id, "output": says(*steps)}


def only_call(response):
    (call,) = [item for item in response.output if item.type == "function_call"]
    return call


@case("makes, retrieves, updates and deletes a conversation")
def conversation(client):
    made = client.conversations.create(items=[message("Hello")], metadata={"topic": "tea"})
    expect(made.id.startswith("conv_") and made.object == "conversation", made)
    # Milliseconds: it was within this minute.
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
    expect([text_of(item) for item in listed] == texts, listed)
    expect([text_of(item) for item in client.conversations.items.list(made.id)] == texts[::-1])
    page = client.conversations.items.list(made.id, order="asc", limit=2, after=listed[9].id)
    expect([text_of(item) for item in page.data] == texts[10:12] and page.has_more, page)


@case("gets a response, and retrieves it")
def plain(client):
    response = client.responses.create(**HELLO, metadata={"a": "b"}, instructions="Be brief.")
    expect(response.output_text == "Hello there." and response.status == "completed", response)
    expect(response.metadata == {"a": "b"} and response.instructions == "Be brief.", response)
    usage = response.usage
    expect(usage.total_tokens == usage.input_tokens + usage.output_tokens and usage.input_tokens > 0, usage)
    expect(client.responses.retrieve(response.id) == response, response)


@case("streams a response by its helper, which adds the events up")
def helper(client):
    with client.responses.stream(**HELLO) as stream:
        events = list(stream)
        final = stream.get_final_response()
    said = [event.snapshot for event in events if event.type == "response.output_text.delta"]
    expect(said == ["Hello ", "Hello there."], said)
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
    asked = {"model": "svc-plus", "input": says("Easy", ".", "</think>", "Done."), "reasoning": {"effort": "high"}}
    with client.responses.stream(**asked) as stream:
        streamed = stream.get_final_response()
    for response in (client.responses.create(**asked), streamed):
        expect([item.type for item in response.output] == ["reasoning", "message"], response.output)
        expect(response.output[0].summary[0].text == "Easy.", response.output)
        expect(response.output_text.strip() == "Done.", response.output)
        expect(response.usage.output_tokens_details.reasoning_tokens > 0, response.usage)


@case("gets an incomplete response at its limit")
def incomplete(client):
    asked = {**ASKED, "input": says("a ", "b ", "c "), "max_output_tokens": 2}
    response = client.responses.create(**asked)
    expect(response.status == "incomplete" and response.output_text == "a b ", response)
    expect(response.incomplete_details.reason == "max_output_tokens", response)
    # Its helper waits for response.completed, so the event tells it.
    with client.responses.stream(**asked) as stream:
        last = list(stream)[-1]
    expect(last.type == "response.incomplete" and last.response.output_text == "a b ", last)


@case("parses a response by a pydantic model")
def parsed(client):
    response = client.responses.parse(**PARSED)
    expect(response.output_parsed == City(city="Paris"), response)


@case("parses a response by a pydantic model at the end of a stream")
def parsed_stream(client):
    with client.responses.stream(**PARSED) as stream:
        events = list(stream)
        final = stream.get_final_response()
    (done,) = [event for event in events if event.type == "response.output_text.done"]
    expect(done.parsed == final.output_parsed == City(city="Paris"), done, final)


@case("parses the arguments of a pydantic function")
def parsed_arguments(client):
    asked = {**CALLING, "tools": [WEATHER]}
    response = client.responses.parse(**asked)
    expect(only_call(response).parsed_arguments == City(city="Paris"), response)
    with client.responses.stream(**asked) as stream:
        events = list(stream)
        final = stream.get_final_response()
    told = [event.snapshot for event in events if event.type == "response.function_call_arguments.delta"]
    expect(told[-1] == only_call(final).arguments, told)
    expect(only_call(final).parsed_arguments == City(city="Paris"), final)


@case("goes on after the result of a tool, from the response and in a conversation")
def tool_loop(client):
    made = client.conversations.create()
    for place in ({}, {"conversation": made.id}):
        first = client.responses.create(**CALLING, **place)
        call = only_call(first)
        expect(json.loads(call.arguments) == {"city": "Paris"} and call.name == "get_weather", call)
        next_place = place or {"previous_response_id": first.id}
        result = result_of(call, "It is sunny.")
        second = client.responses.create(**{**CALLING, "input": [result]}, **next_place)
        expect(second.output_text == "It is sunny.", second)
    kinds = [item.type for item in client.conversations.items.list(made.id, order="asc")]
    expect(kinds == ["message", "function_call", "function_call_output", "message"], kinds)


@case("goes on from a response as if all had been sent at once")
def chain(client):
    first = client.responses.create(**CALLING)
    result = result_of(only_call(first), "It is sunny.")
    tools = {**ASKED, "tools": CALLING["tools"]}
    second = client.responses.create(**tools, input=[result], previous_response_id=first.id)
    thanks = {"role": "user", "content": says("You are welcome.")}
    third = client.responses.create(**tools, input=[thanks], previous_response_id=second.id)
    asked = {"role": "user", "content": CALLING["input"]}
    # Output goes back as it came.
    history = [asked, *first.output, result, *[item.model_dump() for item in second.output], thanks]
    flat = client.responses.create(**tools, input=history)
    expect(third.output_text == flat.output_text == "You are welcome.", third, flat)
    expect(third.usage.input_tokens == flat.usage.input_tokens, third.usage, flat.usage)


@case("lists what a response was asked, and counts its tokens")
def asked_items(client):
    asked = {**ASKED, "input": [message(text) for text in "abcde"]}
    response = client.responses.create(**asked)
    listed = list(client.responses.input_items.list(response.id, order="asc", limit=2))
    expect([text_of(item) for item in listed] == list("abcde"), listed)
    last = client.responses.input_items.list(response.id, limit=1).data
    expect(last == listed[-1:], last)
    counted = client.responses.input_tokens.count(**asked)
    expect(counted.input_tokens == response.usage.input_tokens, counted, response.usage)


@case("deletes a response, and finds it no more")
def deleted(client):
    response = client.responses.create(**HELLO)
    client.responses.delete(response.id)
    expect_error(openai.NotFoundError, lambda: client.responses.retrieve(response.id))
    passing = client.responses.create(**HELLO, store=False)
    expect_error(openai.NotFoundError, lambda: client.responses.retrieve(passing.id))


@case("raises NotFoundError for what is not there")
def not_there(client):
    for call in (
        lambda: client.conversations.retrieve("conv_of_nobody"),
        lambda: client.conversations.items.list("conv_of_nobody"),
        lambda: client.responses.retrieve("resp_of_nobody"),
        lambda: client.responses.create(**HELLO, conversation="conv_of_nobody"),
        lambda: client.responses.create(**HELLO, previous_response_id="resp_of_nobody", stream=True),
    ):
        error = expect_error(openai.NotFoundError, call)
        expect(error.code == "not_found" and "of_nobody" in error.message, error.body)


@case("raises BadRequestError for a conversation and a response to go on from")
def both(client):
    places = {"conversation": "conv_1", "previous_response_id": "resp_1"}
    error = expect_error(openai.BadRequestError, lambda: client.responses.create(**HELLO, **places))
    expect(error.param == "previous_response_id" and error.code == "invalid_parameter_error", error.body)


def first_delta(stream):
    return next(event for event in stream if event.type == "response.output_text.delta")


@case("raises ConflictError where a conversation is being answered")
def locked(client):
    made = client.conversations.create()
    with client.responses.create(**HANGING, conversation=made.id, stream=True) as stream:
        first_delta(stream)
        error = expect_error(
            openai.ConflictError, lambda: client.responses.create(**HELLO, conversation=made.id)
        )
    expect(error.code == "conversation_locked" and int(error.response.headers["retry-after"]) >= 1, error.body)


def when_free(call):
    deadline = time.monotonic() + FREE_S_MAX
    while True:
        try:
            return call()
        except openai.ConflictError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@case("leaves no half turn when a stream is closed")
def closed(client):
    made = client.conversations.create(items=[message("Hi")])
    with client.responses.stream(**HANGING, conversation=made.id) as stream:
        first_delta(stream)
    response = when_free(lambda: client.responses.create(**HELLO, conversation=made.id))
    texts = [text_of(item) for item in client.conversations.items.list(made.id, order="asc")]
    expect(texts == ["Hi", HELLO["input"], response.output_text], texts)


@case("raises nothing in a stream that fails, whose last event says so")
def failed(client):
    made = client.conversations.create()
    asked = {**ASKED, "input": says("One ", {"fail": "engine-failed"}), "conversation": made.id}
    last = list(client.responses.create(**asked, stream=True))[-1]
    expect(last.type == "response.failed" and last.response.error.message, last)
    expect(client.conversations.items.list(made.id).data == [], last)
    expect_error(openai.InternalServerError, lambda: client.responses.create(**asked))


def ended(client, response):
    """Polled, as the client's own guide does it."""
    until = time.monotonic() + REQUEST_S_MAX
    while response.status in ("queued", "in_progress") and time.monotonic() < until:
        time.sleep(0.05)
        response = client.responses.retrieve(response.id)
    return response


@case("gets an answer in the background, and polls for it")
def background(client):
    made = client.conversations.create()
    queued = client.responses.create(**HELLO, background=True, conversation=made.id, metadata={"a": "b"})
    expect(queued.status == "queued" and queued.background and queued.output == [], queued)
    done = ended(client, queued)
    expect(done.status == "completed" and done.output_text == "Hello there." and done.background, done)
    expect(done.id == queued.id and done.metadata == {"a": "b"} and done.usage.total_tokens > 0, done)
    expect([item.role for item in client.conversations.items.list(made.id, order="asc")] == ["user", "assistant"])
    after = client.responses.create(**HELLO, background=True, previous_response_id=done.id)
    expect(ended(client, after).status == "completed", after)
    expect(client.responses.cancel(done.id) == done, done)


@case("breaks off a stream of the background, and goes on where it was")
def resumed(client):
    asked = {**ASKED, "input": says("One ", {"delayMs": 200}, "two ", {"delayMs": 200}, "three.")}
    seen = []
    with client.responses.create(**asked, background=True, stream=True) as stream:
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


@case("goes on with a stream of the background by its helper")
def resumed_by_helper(client):
    with client.responses.stream(**HELLO, background=True) as stream:
        first = next(iter(stream))
    with client.responses.stream(response_id=first.response.id, starting_after=5) as stream:
        events = list(stream)
        final = stream.get_final_response()
    expect(final.output_text == "Hello there." and final.status == "completed", final)
    expect([event.sequence_number for event in events] == list(range(6, 6 + len(events))) and events, events)


@case("cancels a response of the background, whose stream ends with that")
def cancelled(client):
    made = client.conversations.create()
    with client.responses.create(**HANGING, background=True, stream=True, conversation=made.id) as stream:
        seen = []
        for event in stream:
            seen.append(event)
            if event.type == "response.output_text.delta":
                told = client.responses.cancel(seen[0].response.id)
    expect(told.status == "cancelled" and told.error is None, told)
    expect(seen[-1].type == "response.incomplete" and seen[-1].response == told, seen[-1])
    expect(client.responses.cancel(told.id) == client.responses.retrieve(told.id) == told, told)
    with client.responses.stream(response_id=told.id) as stream:
        expect(list(stream)[-1].response.status == "cancelled")
    when_free(lambda: client.responses.create(**HELLO, conversation=made.id))
    expect([item.role for item in client.conversations.items.list(made.id, order="asc")] == ["user", "assistant"])
    live = client.responses.create(**HELLO)
    expect_error(openai.BadRequestError, lambda: client.responses.cancel(live.id))
    expect_error(openai.BadRequestError, lambda: client.responses.retrieve(live.id, stream=True))
    client.responses.delete(told.id)
    expect_error(openai.NotFoundError, lambda: client.responses.retrieve(told.id))


@case("may use the path of before")
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
    first = await client.responses.create(**CALLING, conversation=made.id)
    result = result_of(only_call(first), "It is sunny.")
    second = await client.responses.create(**{**CALLING, "input": [result]}, conversation=made.id)
    expect(second.output_text == "It is sunny.", second)
    listed = [item async for item in client.conversations.items.list(made.id, order="asc", limit=1)]
    expect([item.type for item in listed][1:3] == ["function_call", "function_call_output"], listed)
    expect((await client.conversations.items.retrieve(listed[0].id, conversation_id=made.id)) == listed[0])
    expect((await client.responses.parse(**PARSED)).output_parsed == City(city="Paris"))
    expect((await client.responses.retrieve(second.id)) == second, second)
    asked = [item async for item in client.responses.input_items.list(second.id)]
    expect([item.type for item in asked] == ["function_call_output"], asked)
    await client.responses.delete(second.id)
    await client.conversations.delete(made.id)
    for gone in (client.responses.retrieve(second.id), client.conversations.retrieve(made.id)):
        try:
            expect(False, await gone)
        except openai.NotFoundError as error:
            expect(error.code == "not_found", error.body)


async def streaming(client):
    async with client.responses.stream(**PARSED) as stream:
        said = [event.delta async for event in stream if event.type == "response.output_text.delta"]
        final = await stream.get_final_response()
    expect("".join(said) == final.output_text and final.output_parsed == City(city="Paris"), said)

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
    texts = [text_of(item) async for item in client.conversations.items.list(made.id, order="asc")]
    expect(texts == [HELLO["input"], "Hello there."], texts)


case("does all of that asynchronously")(asynchronously(everything))
case("streams asynchronously, and breaks off")(asynchronously(streaming))


if __name__ == "__main__":
    run(OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=REQUEST_S_MAX))
