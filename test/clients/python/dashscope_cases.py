"""The 1.x API of the dashscope client; started by dashscope-python.test.ts with the last 1.x and with 2.x.

Its Parley runs the scripted engine.
"""

import asyncio
import json

from cases import case, expect, expect_error, run
from dashscope import (
    AioGeneration,
    AioMultiModalConversation,
    BatchTextEmbedding,
    FineTunes,
    Generation,
    Models,
    MultiModalConversation,
    TextReRank,
)
from dashscope.common.error import InputRequired
from dashscope_helpers import MODEL, WEATHER, get_content, expect_failure, get_message, get_finish_reasons
from dashscope_helpers import ask as ask_for
from models import GetWeather

COUNT = ["One", ", two", ", three"]
COUNT_TEXT = "".join(COUNT)
# A pause between steps, so that a stream has more than one event. Texts without a pause may arrive in one event.
PAUSE = {"delayMs": 100}


def scripted_messages(*steps):
    return [{"role": "user", "content": "script:" + json.dumps(steps)}]


def count_messages(stream=False):
    return scripted_messages(*(step for token in COUNT for step in ([token, PAUSE] if stream else [token])))


def ask(messages=None, **more):
    if messages is None and "prompt" not in more:
        messages = count_messages(more.get("stream"))
    return ask_for(messages, **more)


def expect_usage(usage):
    expect(usage.input_tokens > 0 and usage.output_tokens >= 0, usage)
    expect(usage["total_tokens"] == usage.input_tokens + usage.output_tokens, usage)


async def collect_events(call):
    return [event async for event in await call]


@case("gets an answer as a message")
def message():
    answer = ask()
    (choice,) = answer.output.choices
    expect(choice.finish_reason == "stop" and choice.message.role == "assistant", answer)
    expect(choice.message.content == COUNT_TEXT and answer.output.text is None, answer)
    expect(answer.code == "" and answer.message == "", answer)
    expect(answer.usage.output_tokens == 3, answer)
    expect_usage(answer.usage)


@case("gets an answer as text, which is the default")
def text():
    for more in ({}, {"result_format": "text"}):
        answer = Generation.call(model=MODEL, messages=count_messages(), **more)
        expect(answer.status_code == 200 and answer.output.text == COUNT_TEXT, answer)
        expect(answer.output.finish_reason == "stop" and not answer.output.choices, answer)
        expect_usage(answer.usage)


@case("may send a prompt, alone and after messages")
def prompt():
    expect("Good morning" in get_content(ask(prompt="Good morning")))
    answer = ask(prompt="Good night", messages=[{"role": "system", "content": "Be brief."}])
    expect("Good night" in get_content(answer), answer)


@case("may send a history in its old form")
def history():
    answer = ask(prompt="And now?", history=[{"user": "Hello", "bot": "Good day"}])
    expect("And now?" in get_content(answer), answer)
    without = ask(prompt="And now?")
    expect(answer.usage.input_tokens > without.usage.input_tokens, answer.usage, without.usage)


@case("may send a message as a list of texts, and mark one for the cache")
def parts():
    mark = {"type": "ephemeral"}
    content = [{"type": "text", "text": "Good ", "cache_control": mark}, {"type": "text", "text": "evening"}]
    expect("Good evening" in get_content(ask([{"role": "user", "content": content}])))


@case("streams the whole answer so far by default")
def cumulative():
    events = list(ask(stream=True))
    received = [get_content(event) for event in events]
    expect(len(received) > 2 and all(COUNT_TEXT.startswith(text) for text in received), received)
    expect(received == sorted(received, key=len) and received[-1] == COUNT_TEXT, received)
    reasons = get_finish_reasons(events)
    expect(set(reasons[:-1]) == {"null"} and reasons[-1] == "stop", reasons)


@case("streams pieces with incremental_output true")
def incremental():
    events = list(ask(stream=True, incremental_output=True))
    expect(len(events) > 2 and "".join(get_content(event) for event in events) == COUNT_TEXT, events)
    expect(all(get_message(event).role == "assistant" for event in events), events)
    expect(get_finish_reasons(events)[-1] == "stop", events)


@case("joins the pieces in the client with incremental_output false")
def merged():
    events = list(ask(stream=True, incremental_output=False))
    received = [get_content(event) for event in events]
    expect(received == sorted(received, key=len) and received[0] == "One" and received[-1] == COUNT_TEXT, received)


@case("streams text in all three ways")
def text_streams():
    for how in ({}, {"incremental_output": True}, {"incremental_output": False}):
        events = list(ask(result_format="text", stream=True, **how))
        received = [event.output.text for event in events]
        whole = "".join(received) if how.get("incremental_output") else received[-1]
        expect(whole == COUNT_TEXT, how, received)
        reasons = [event.output.finish_reason for event in events]
        expect(set(reasons[:-1]) == {"null"} and reasons[-1] == "stop", how, reasons)


@case("gets usage and the same request id in every event")
def usage():
    events = list(ask(stream=True))
    for event in events:
        expect_usage(event.usage)
    counts = [event.usage.output_tokens for event in events]
    expect(counts == sorted(counts) and counts[-1] == 3, counts)
    expect(len({event.request_id for event in events}) == 1, events)
    expect(events[0].headers["content-type"] == "text/event-stream;charset=UTF-8", events[0].headers)


@case("gets a different request id for each call")
def request_id():
    first, second = ask(), ask()
    expect(get_content(first) == get_content(second) and first.request_id != second.request_id, first, second)
    headers = {name.lower(): value for name, value in first.headers.items()}
    expect(headers["x-request-id"] == first.request_id, headers)


@case("gets two choices")
def choices():
    answer = ask(n=2)
    expect([choice.index for choice in answer.output.choices] == [0, 1], answer)
    expect(all(choice.message.content == COUNT_TEXT for choice in answer.output.choices), answer)
    expect(answer.usage.output_tokens == 6, answer.usage)


@case("gets two choices in one stream, distinguished by index")
def choices_streamed():
    received, ended = {0: "", 1: ""}, []
    for event in ask(n=2, stream=True, incremental_output=True):
        for choice in event.output.choices:
            received[choice.index] += choice.message.content
            if choice.finish_reason != "null":
                ended.append(choice.index)
    expect(received == {0: COUNT_TEXT, 1: COUNT_TEXT} and sorted(ended) == [0, 1], received, ended)


@case("joins two choices in the client, and sums their usage")
def choices_merged():
    events = list(ask(n=2, stream=True, incremental_output=False))
    # The client holds the end of the first choice until the second ends, and emits one event for both.
    last = events[-1].output.choices
    expect([choice["index"] for choice in last] == [0, 1], events[-1])
    expect(all(choice["message"]["content"] == COUNT_TEXT for choice in last), events[-1])
    expect(all(choice["finish_reason"] == "stop" for choice in last), events[-1])
    expect(events[-1].usage["output_tokens"] == 6, events[-1].usage)


@case("gets an answer that ends before a stop string")
def stopped():
    for stop in (" three", [" three"], ["!", " three"]):
        answer = ask(stop=stop)
        expect(get_content(answer) == "One, two," and get_finish_reasons([answer]) == ["stop"], answer)


@case("gets finish reason length at its token limit")
def length():
    answer = ask(max_tokens=2)
    expect(get_content(answer) == "One, two" and get_finish_reasons([answer]) == ["length"], answer)
    events = list(ask(max_tokens=2, stream=True, incremental_output=True))
    expect(get_finish_reasons(events)[-1] == "length", events)


@case("gets log probabilities, streamed or not")
def logprobs():
    how = {"logprobs": True, "top_logprobs": 2}
    tokens = ask(**how).output.choices[0].logprobs["content"]
    expect("".join(token["token"] for token in tokens) == COUNT_TEXT, tokens)
    expect(all(token["logprob"] <= 0 and len(token["top_logprobs"]) <= 2 for token in tokens), tokens)
    pieces = [event.output.choices[0].logprobs for event in ask(stream=True, incremental_output=True, **how)]
    streamed = [token for piece in pieces if piece for token in piece["content"]]
    expect([token["token"] for token in streamed] == [token["token"] for token in tokens], streamed)


@case("calls a tool that it may call, and answers after its result")
def tools():
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    question = scripted_messages(call)
    answer = ask(question, tools=[WEATHER])
    called = get_message(answer)
    (call,) = called.tool_calls
    expect(get_finish_reasons([answer]) == ["tool_calls"] and called.content == "", answer)
    expect(GetWeather.model_validate_json(call["function"]["arguments"]).city == "Paris", call)
    # The result is the script of the next answer.
    result = {"role": "tool", "content": "script:" + json.dumps(COUNT), "tool_call_id": call["id"]}
    expect(get_content(ask([*question, called, result], tools=[WEATHER])) == COUNT_TEXT)


@case("may send unknown parameters")
def unknown():
    expect(get_content(ask(vl_what="ever", clear_thinking=True, max_input_tokens=7)) == COUNT_TEXT)


@case("may name its own workspace and no other")
def workspace():
    expect(get_content(ask(workspace="primary")) == COUNT_TEXT)
    expect_failure(ask(workspace="another-workspace"), 403, "Workspace.AccessDenied")


@case("with a wrong key gets InvalidApiKey")
def wrong_key():
    wrong = "sk-unknown-key"
    expect_failure(ask(api_key=wrong), 401, "InvalidApiKey", "Invalid API-key provided.")
    (event,) = ask(api_key=wrong, stream=True)
    expect_failure(event, 401, "InvalidApiKey")


@case("with an unknown model gets ModelNotFound")
def unknown_model():
    expect_failure(ask(model="no-such-model"), 404, "ModelNotFound")
    (event,) = ask(model="no-such-model", stream=True, incremental_output=False)
    expect_failure(event, 404, "ModelNotFound")


@case("with a temperature of 3 gets InvalidParameter, which names it")
def bad_parameter():
    expect_failure(ask(temperature=3), 400, "InvalidParameter", "Temperature should be in [0.0, 2.0)")
    (event,) = ask(temperature=3, stream=True)
    expect_failure(event, 400, "InvalidParameter", "Temperature should be in [0.0, 2.0)")


@case("with invalid messages gets InvalidParameter, or raises before sending")
def bad_messages():
    expect_error(InputRequired, lambda: ask([]))
    expect_failure(ask([{"role": "robot", "content": "Hello"}]), 400, "InvalidParameter", "Role must be user or")


@case("with result_format text for tools, choices or thoughts gets InvalidParameter")
def bad_format():
    for more in ({"tools": [WEATHER]}, {"n": 2}, {"enable_thinking": True}):
        expect_failure(ask(result_format="text", **more), 400, "InvalidParameter", "result_format")


@case("gets a failure before the first event with its status")
def failed():
    for stream in (False, True):
        answer = ask(scripted_messages({"fail": "engine-failed"}), stream=stream)
        (event,) = answer if stream else (answer,)
        expect_failure(event, 500, "InternalError")


@case("gets a failure in mid-stream as the last event")
def failed_later():
    for how in ({}, {"incremental_output": True}, {"incremental_output": False}):
        events = list(ask(scripted_messages("One", PAUSE, {"fail": "engine-failed"}), stream=True, **how))
        expect(len(events) > 1 and get_content(events[0]) == "One", how, events)
        expect(events[-1].status_code >= 400 and events[-1].code == "InternalError", how, events[-1])
        expect(bool(events[-1].message) and events[-1].request_id == events[0].request_id, how, events[-1])


@case("works asynchronously")
def asynchronous():
    call = {"model": MODEL, "messages": count_messages(stream=True), "result_format": "message"}

    async def all_of_it():
        expect(get_content(await AioGeneration.call(**call)) == COUNT_TEXT)
        events = await collect_events(AioGeneration.call(**call, stream=True))
        expect(get_content(events[-1]) == COUNT_TEXT and get_finish_reasons(events)[-1] == "stop", events)
        events = await collect_events(AioGeneration.call(**call, stream=True, incremental_output=True))
        expect("".join(get_content(event) for event in events) == COUNT_TEXT, events)
        events = await collect_events(AioGeneration.call(**call, stream=True, incremental_output=False))
        expect(get_content(events[-1]) == COUNT_TEXT, events)
        (event,) = await collect_events(AioGeneration.call(**{**call, "model": "no-such-model"}, stream=True))
        expect_failure(event, 404, "ModelNotFound")
        breaking = {**call, "messages": scripted_messages("One", PAUSE, {"fail": "engine-failed"})}
        events = await collect_events(AioGeneration.call(**breaking, stream=True))
        expect(get_content(events[0]) == "One" and events[-1].code == "InternalError", events)

    asyncio.run(all_of_it())


@case("gets a list of texts on the multimodal path")
def multimodal():
    messages = [{"role": "user", "content": [{"text": count_messages(stream=True)[0]["content"]}]}]
    call = {"model": MODEL, "messages": messages}
    answer = MultiModalConversation.call(**call)
    expect(get_content(answer) == [{"text": COUNT_TEXT}] and get_finish_reasons([answer]) == ["stop"], answer)
    expect_usage(answer.usage)
    for how in ({}, {"incremental_output": False}):
        events = list(MultiModalConversation.call(**call, stream=True, **how))
        expect(get_content(events[-1]) == [{"text": COUNT_TEXT}], how, events)
    events = list(MultiModalConversation.call(**call, stream=True, incremental_output=True))
    expect("".join(part["text"] for event in events for part in get_content(event)) == COUNT_TEXT, events)

    async def asynchronously():
        expect(get_content(await AioMultiModalConversation.call(**call)) == [{"text": COUNT_TEXT}])

    asyncio.run(asynchronously())


@case("may send a message as a string on the multimodal path")
def multimodal_text():
    answer = MultiModalConversation.call(model=MODEL, messages=[{"role": "user", "content": "Good morning"}])
    expect("Good morning" in get_content(answer)[0]["text"], answer)


@case("lists the models and gets one")
def models():
    listed = Models.list(page=1, page_size=2)
    expect(listed.status_code == 200 and len(listed.output["models"]) == 2, listed)
    expect(listed.output["page_size"] == 2 and listed.output["total"] > 2, listed)
    expect(Models.get(MODEL).output["model"] == MODEL)
    expect(Models.get("no-such-model").status_code == 404)


@case("gets status UNKNOWN for an unknown task, and cannot cancel it")
def tasks():
    fetched = BatchTextEmbedding.fetch("no-such-task")
    expect(fetched.status_code == 200 and fetched.output.task_status == "UNKNOWN", fetched)
    # A client that waits for the task stops at this status.
    expect(BatchTextEmbedding.wait("no-such-task").output.task_status == "UNKNOWN")
    cancelled = BatchTextEmbedding.cancel("no-such-task")
    expect(cancelled.status_code == 400 and cancelled.code == "UnsupportedOperation", cancelled)
    listed = BatchTextEmbedding.list()
    expect(listed.status_code == 200, listed)


@case("gets an error or an empty list for what is not served")
def not_served():
    listed = FineTunes.list()
    expect(listed.status_code == 200 and listed.output.jobs == [], listed)
    got = FineTunes.get("no-such-job")
    expect(got.status_code == 404 and got.code == "NotFound", got)
    created = FineTunes.call(model=MODEL, training_file_ids="no-such-file")
    expect(created.status_code == 400 and created.code == "UnsupportedOperation", created)
    ranked = TextReRank.call(model="no-such-model", query="sea", documents=["blue", "bread"])
    expect(ranked.status_code in (400, 404) and ranked.code and ranked.message, ranked)


if __name__ == "__main__":
    run()
