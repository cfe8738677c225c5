"""Helpers of the cases for deep research."""

import asyncio

import dashscope_helpers  # noqa: F401 sets the address and the key
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


def get_message(event):
    expect(event.status_code == 200 and event.code == "" and event.message == "", event)
    expect(event.output.text is None and event.output.choices is None, event)
    return event.output.get("message")


def get_findings(event):
    return get_message(event)["extra"]["deep_research"]


def get_content(events, phase):
    return "".join(get_message(event)["content"] for event in events if get_message(event)["phase"] == phase)


def expect_complete(events):
    """Checks what all events and the last event of a complete answer have in common."""
    expect(len({event.request_id for event in events}) == 1 and events[0].request_id, events)
    # A budget may have ended the search of a short report.
    reason = events[-1].output.finish_reason
    expect(reason in ("stop", "length"), events[-1])
    for event in events:
        message = get_message(event)
        expect(message["role"] == "assistant" and list(message) == ["phase", "role", "content", "status", "extra"], event)
        expect(isinstance(event.usage.input_tokens, int) and isinstance(event.usage.output_tokens, int), event)
        is_last = event is events[-1]
        expect(event.output["fininshed"] is is_last, event)
        expect(event.output["fininshed_reason"] == ("stop" if is_last else "null"), event)
        expect(event.output.finish_reason == (reason if is_last else None), event)
    output_tokens = [event.usage.output_tokens for event in events]
    expect(output_tokens == sorted(output_tokens) and output_tokens[-1] > 0, output_tokens)
    last = get_message(events[-1])
    expect((last["phase"], last["status"], last["content"]) == ("answer", "finished", ""), last)


def get_stages(events):
    """Returns pairs of phase and status, without consecutive duplicates."""
    stages = [(get_message(event)["phase"], get_message(event)["status"]) for event in events]
    return [stage for at, stage in enumerate(stages) if at == 0 or stages[at - 1] != stage]
