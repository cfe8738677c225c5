"""What the cases of deep research share: how it is asked for, and what holds of each answer."""

import asyncio

import dashscope_asking  # noqa: F401 sets the address and the key
from cases import expect
from dashscope import Generation
from dashscope.aigc.generation import AioGeneration


def research(messages, model="qwen-deep-research", stream=True, **more):
    return Generation.call(model=model, messages=messages, stream=stream, **more)


def research_async(messages, **more):
    async def ask():
        answers = await AioGeneration.call(model="qwen-deep-research", messages=messages, stream=True, **more)
        return [event async for event in answers]

    return asyncio.run(ask())


def message_of(event):
    expect(event.status_code == 200 and event.code == "" and event.message == "", event)
    expect(event.output.text is None and event.output.choices is None, event)
    return event.output.get("message")


def found_in(event):
    return message_of(event)["extra"]["deep_research"]


def content_of(events, phase):
    return "".join(message_of(event)["content"] for event in events if message_of(event)["phase"] == phase)


def expect_whole(events):
    """What holds of each event, and of the last."""
    expect(len({event.request_id for event in events}) == 1 and events[0].request_id, events)
    for event in events:
        message = message_of(event)
        expect(message["role"] == "assistant" and list(message) == ["phase", "role", "content", "status", "extra"], event)
        expect(isinstance(event.usage.input_tokens, int) and isinstance(event.usage.output_tokens, int), event)
        is_last = event is events[-1]
        expect(event.output["fininshed"] is is_last, event)
        expect(event.output["fininshed_reason"] == ("stop" if is_last else "null"), event)
        expect(event.output.finish_reason == ("stop" if is_last else None), event)
    spent = [event.usage.output_tokens for event in events]
    expect(spent == sorted(spent) and spent[-1] > 0, spent)
    last = message_of(events[-1])
    expect((last["phase"], last["status"], last["content"]) == ("answer", "finished", ""), last)


def stages_of(events):
    """Phase and status, each once where several follow each other."""
    stages = [(message_of(event)["phase"], message_of(event)["status"]) for event in events]
    return [stage for at, stage in enumerate(stages) if at == 0 or stages[at - 1] != stage]
