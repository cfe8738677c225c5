"""Checks what clients were told against the published shapes of the responses interface, for published-shapes.ts.

Standard input: one exchange a line, as recorder.ts keeps them. Standard output: one line of JSON,
{"faults": [text], "checked": {name of a shape: how many}}.
"""

import json
import sys
from collections import Counter
from functools import cache
from typing import Union

import openresponses_types as published
from openai.types import conversations, responses
from pydantic import BaseModel, TypeAdapter, ValidationError

Item = Union[
    published.Message,
    published.FunctionCall,
    published.FunctionCallOutput,
    published.ReasoningBody,
    published.CompactionBody,
]


class ErrorBody(BaseModel):
    error: published.ErrorPayload


class ResponseDeleted(BaseModel):
    id: str
    object: str
    deleted: bool


def events_by_type():
    shapes = [shape for name, shape in vars(published).items() if name.endswith("StreamingEvent")]
    return {kind.value: shape for shape in shapes for kind in shape.model_fields["type"].annotation}


EVENTS = events_by_type()
ENDS = ("response.completed", "response.incomplete", "response.failed")
DIFFERENCES = []


def differs(shape, at, example):
    """A difference between what is told and a shape. What follows says why, and makes of an answer what the shape takes.

    The example is part of an answer, with what the shape refuses in the field `at`; a shape that takes it is a fault.
    """

    def add(mend):
        DIFFERENCES.append((shape, at, example, mend))
        return mend

    return add


@differs(published.ResponseResource, "text", {"text": {"format": {"type": "json_schema", "name": "a", "schema": {}}}})
def schema_of_a_format(response):
    """The shape takes null for the schema of a format and nothing else. Clients find there what they asked for."""
    form = response.get("text", {}).get("format", {})
    if form.get("type") == "json_schema":
        form.update(schema=None, description=form.get("description"), strict=form.get("strict") or False)


@differs(published.ResponseResource, "tools", {"tools": [{"type": "web_search"}]})
def tools_that_run_elsewhere(response):
    """The shape knows functions only. Other tools are told as they were asked for, as the vendor does."""
    response["tools"] = [tool for tool in response.get("tools", []) if tool.get("type") == "function"]


@differs(conversations.Conversation, "object", {"object": "conversation.item.deleted"})
def deleted_item(told):
    """The vendor tells that an item was deleted, the official client declares the conversation: it is both in one."""
    if told.get("object") == "conversation.item.deleted":
        told["object"] = "conversation"


@differs(conversations.ConversationItemList, "first_id", {"data": [], "first_id": None})
@differs(conversations.ConversationItemList, "last_id", {"data": [], "last_id": None})
@differs(responses.ResponseItemList, "first_id", {"data": [], "first_id": None})
@differs(responses.ResponseItemList, "last_id", {"data": [], "last_id": None})
def empty_list(told):
    """The official client declares strings. An empty list has no ids to begin and end with."""
    if told["data"] == []:
        told.update({name: told.get(name) or "" for name in ("first_id", "last_id")})


def mended(shape, told):
    copy = json.loads(json.dumps(told))
    for of, _, _, mend in DIFFERENCES:
        if of is shape:
            mend(copy)
    return copy


@cache
def adapter(shape):
    return TypeAdapter(shape)


def complaints(shape, told):
    try:
        adapter(shape).validate_json(json.dumps(told), strict=True)
    except ValidationError as error:
        return [(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors(include_url=False)]
    return []


def stale_differences():
    for shape, at, example, mend in DIFFERENCES:
        before, after = (
            any(field.startswith(at) for field, _ in complaints(shape, told))
            for told in (example, mended(shape, example))
        )
        if after or not before:
            yield f"{mend.__name__} is no difference to {shape.__name__}.{at}, or not this one"


class Check:
    def __init__(self):
        self.faults = list(stale_differences())
        self.checked = Counter()

    def by(self, shape, told, where):
        self.checked[shape.__name__ if isinstance(shape, type) else "Item"] += 1
        for field, complaint in complaints(shape, mended(shape, told)):
            self.faults.append(f"{where}: {field}: {complaint}")

    def true(self, condition, where, fact):
        if not condition:
            self.faults.append(f"{where}: {fact}")

    def page(self, shape, told, where):
        self.by(shape, told, where)
        for item in told["data"]:
            self.by(Item, item, where)
        ids = [item["id"] for item in told["data"]] or [None]
        self.true([told["first_id"], told["last_id"]] == [ids[0], ids[-1]], where, "its ids are not those of its ends")

    def event(self, told, where):
        kind = told["type"]
        self.true(kind in EVENTS, where, f"no event {kind} is published")
        if kind in EVENTS:
            whole = {"response": mended(published.ResponseResource, told["response"])} if "response" in told else {}
            self.by(EVENTS[kind], {**told, **whole}, f"{where} {kind}")

    def stream(self, text, is_whole, where):
        """Every event, and what holds between them. What stands behind the last blank line was cut off by an abort."""
        frames = [fields for frame in text.split("\n\n")[:-1] if (fields := fields_of(frame))]
        events = [json.loads(fields["data"]) for fields in frames]
        for index, (fields, event) in enumerate(zip(frames, events)):
            self.event(event, where)
            self.true(fields["event"] == event["type"], where, f"a frame {fields['event']} holds {event['type']}")
            first = events[0]["sequence_number"]
            self.true(event["sequence_number"] == first + index, where, f"event {index} is {event['sequence_number']}")
        # One that goes on where another broke off has been looked at from its beginning elsewhere.
        if not events or events[0]["sequence_number"] > 0:
            return
        kinds = [event["type"] for event in events]
        told = [event["response"] for event in events if "response" in event]
        queued = ["response.queued"] if told and told[0]["background"] else []
        begin = ["response.created", *queued, "response.in_progress"][: len(kinds)]
        self.true(kinds[: len(begin)] == begin or "cancelled" in ends(told), where, f"begins with {kinds[:3]}")
        self.true(all(response["output"] == [] for response in told[:2]), where, "has output before its first item")
        self.true(len({response["id"] for response in told}) == 1, where, "changes its id")
        output = accumulated(events)
        if is_whole:
            self.true([kind for kind in kinds if kind in ENDS] == kinds[-1:], where, f"ends with {kinds[-1]}")
            # An item that a failure cut is told in pieces only, and so is one that was cancelled.
            if "response.failed" in kinds or "cancelled" in ends(told):
                output = [item for item in output if item.get("status") != "in_progress"]
            self.true(told[-1]["output"] == output, where, f"ends with another output than {output}")


def ends(told):
    return [response["status"] for response in told[-1:]]


def fields_of(frame):
    lines = [line.partition(":") for line in frame.split("\n") if not line.startswith(":")]
    return {name: value.removeprefix(" ") for name, _, value in lines if name}


def accumulated(events):
    """The output as its pieces say it, and nothing that tells a piece again."""
    output = []
    for event in events:
        kind = event["type"]
        item = output[event["output_index"]] if event.get("output_index", len(output)) < len(output) else None
        if kind == "response.output_item.added":
            output.append(event["item"])
        elif kind == "response.content_part.added":
            item["content"].append(event["part"])
        elif kind == "response.reasoning_summary_part.added":
            item["summary"].append(event["part"])
        elif kind == "response.output_text.delta":
            part = item["content"][event["content_index"]]
            part["text"] += event["delta"]
            part["logprobs"] += event["logprobs"]
        elif kind == "response.reasoning_summary_text.delta":
            item["summary"][event["summary_index"]]["text"] += event["delta"]
        elif kind == "response.function_call_arguments.delta":
            item["arguments"] += event["delta"]
        elif kind == "response.output_item.done" and "status" in item:
            item["status"] = event["item"]["status"]
    return output


def look_at(exchange, check):
    method, status = exchange["method"], exchange["status"]
    path = exchange["path"].split("/v1/")[-1].split("/")
    where = f"{method} {'/'.join(path)}"
    if exchange["type"] == "text/event-stream":
        check.stream(exchange["body"], exchange["isWhole"], where)
        return
    if not exchange["isWhole"]:
        return
    told = json.loads(exchange["body"])
    if status >= 400:
        check.by(ErrorBody, told, where)
        return
    match method, *path:
        case ["POST", "responses"] | ["GET", "responses", _] | ["POST", "responses", _, "cancel"]:
            check.by(published.ResponseResource, told, where)
        case ["DELETE", "responses", _]:
            check.by(ResponseDeleted, told, where)
        case ["POST", "responses", "input_tokens"]:
            check.by(responses.InputTokenCountResponse, told, where)
        case ["GET", "responses", _, "input_items"]:
            check.page(responses.ResponseItemList, told, where)
        case ["POST", "conversations"] | ["GET" | "POST", "conversations", _]:
            check.by(conversations.Conversation, told, where)
        case ["DELETE", "conversations", _]:
            check.by(conversations.ConversationDeletedResource, told, where)
        case ["GET" | "POST", "conversations", _, "items"]:
            check.page(conversations.ConversationItemList, told, where)
        case ["GET", "conversations", _, "items", _]:
            check.by(Item, told, where)
        case ["DELETE", "conversations", _, "items", _]:
            check.by(conversations.Conversation, told, where)
        case _:
            check.true(False, where, "has no shape to be checked by")


def main():
    check = Check()
    for line in sys.stdin:
        exchange = json.loads(line)
        try:
            look_at(exchange, check)
        except (KeyError, TypeError, ValueError) as error:
            check.faults.append(f"{exchange['method']} {exchange['path']}: {error!r}: {exchange['body'][:400]}")
    faults = [f"{fault} ({times} times)" for fault, times in Counter(check.faults).items()]
    print(json.dumps({"faults": faults, "checked": check.checked}))


if __name__ == "__main__":
    main()
