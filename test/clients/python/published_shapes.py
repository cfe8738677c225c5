"""Checks what clients received against the published shapes of the responses interface; started by published-shapes.ts.

Standard input: one exchange per line, as recording-proxy.ts records them. Standard output: one line of JSON,
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


def known_difference(shape, at, example):
    """Declares a known difference between Parley and a shape. The docstring of the decorated function gives the reason.

    The function adapts a value to the shape. The example has the difference in the field `at`. The check fails when the shape
    accepts the example as it is, because the difference is then obsolete.
    """

    def add(adapt):
        DIFFERENCES.append((shape, at, example, adapt))
        return adapt

    return add


@known_difference(published.ResponseResource, "text", {"text": {"format": {"type": "json_schema", "name": "a", "schema": {}}}})
def schema_of_a_format(response):
    """The shape allows only null as the schema of a format. Parley returns the requested schema, as clients expect."""
    form = response.get("text", {}).get("format", {})
    if form.get("type") == "json_schema":
        form.update(schema=None, description=form.get("description"), strict=form.get("strict") or False)


@known_difference(published.ResponseResource, "tools", {"tools": [{"type": "web_search"}]})
def tools_that_run_elsewhere(response):
    """The shape allows functions only. Other tools are returned as requested, as the vendor does."""
    response["tools"] = [tool for tool in response.get("tools", []) if tool.get("type") == "function"]


@known_difference(conversations.Conversation, "object", {"object": "conversation.item.deleted"})
def deleted_item(value):
    """The vendor reports a deleted item, the official client declares a conversation. Parley's body is valid as both."""
    if value.get("object") == "conversation.item.deleted":
        value["object"] = "conversation"


@known_difference(conversations.ConversationItemList, "first_id", {"data": [], "first_id": None})
@known_difference(conversations.ConversationItemList, "last_id", {"data": [], "last_id": None})
@known_difference(responses.ResponseItemList, "first_id", {"data": [], "first_id": None})
@known_difference(responses.ResponseItemList, "last_id", {"data": [], "last_id": None})
def empty_list(value):
    """The official client declares strings. An empty list has no first and last id."""
    if value["data"] == []:
        value.update({name: value.get(name) or "" for name in ("first_id", "last_id")})


def adapted(shape, value):
    copy = json.loads(json.dumps(value))
    for other, _, _, adapt in DIFFERENCES:
        if other is shape:
            adapt(copy)
    return copy


@cache
def adapter(shape):
    return TypeAdapter(shape)


def find_violations(shape, value):
    try:
        adapter(shape).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        return [(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors(include_url=False)]
    return []


def stale_differences():
    for shape, at, example, adapt in DIFFERENCES:
        before, after = (
            any(field.startswith(at) for field, _ in find_violations(shape, value))
            for value in (example, adapted(shape, example))
        )
        if after or not before:
            yield f"{adapt.__name__} is no difference to {shape.__name__}.{at}, or adapts it wrongly"


class Check:
    def __init__(self):
        self.faults = list(stale_differences())
        self.checked = Counter()

    def by(self, shape, value, where):
        self.checked[shape.__name__ if isinstance(shape, type) else "Item"] += 1
        for field, violation in find_violations(shape, adapted(shape, value)):
            self.faults.append(f"{where}: {field}: {violation}")

    def true(self, condition, where, detail):
        if not condition:
            self.faults.append(f"{where}: {detail}")

    def page(self, shape, value, where):
        self.by(shape, value, where)
        for item in value["data"]:
            self.by(Item, item, where)
        ids = [item["id"] for item in value["data"]] or [None]
        self.true([value["first_id"], value["last_id"]] == [ids[0], ids[-1]], where, "its ids are not those of its ends")

    def event(self, value, where):
        kind = value["type"]
        self.true(kind in EVENTS, where, f"no event {kind} is published")
        if kind in EVENTS:
            whole = {"response": adapted(published.ResponseResource, value["response"])} if "response" in value else {}
            self.by(EVENTS[kind], {**value, **whole}, f"{where} {kind}")

    def stream(self, text, is_complete, where):
        """Checks each event and their order. A text after the last blank line was cut off by an abort."""
        frames = [fields for frame in text.split("\n\n")[:-1] if (fields := parse_fields(frame))]
        events = [json.loads(fields["data"]) for fields in frames]
        for index, (fields, event) in enumerate(zip(frames, events)):
            self.event(event, where)
            self.true(fields["event"] == event["type"], where, f"a frame {fields['event']} holds {event['type']}")
            first = events[0]["sequence_number"]
            self.true(event["sequence_number"] == first + index, where, f"event {index} is {event['sequence_number']}")
        # A resumed stream continues another one, whose start was checked there.
        if not events or events[0]["sequence_number"] > 0:
            return
        kinds = [event["type"] for event in events]
        snapshots = [event["response"] for event in events if "response" in event]
        queued = ["response.queued"] if snapshots and snapshots[0]["background"] else []
        expected = ["response.created", *queued, "response.in_progress"][: len(kinds)]
        self.true(kinds[: len(expected)] == expected or "cancelled" in last_status(snapshots), where, f"begins with {kinds[:3]}")
        self.true(all(response["output"] == [] for response in snapshots[:2]), where, "has output before its first item")
        self.true(len({response["id"] for response in snapshots}) == 1, where, "changes its id")
        output = accumulate_output(events)
        if is_complete:
            self.true([kind for kind in kinds if kind in ENDS] == kinds[-1:], where, f"ends with {kinds[-1]}")
            # An item that a failure or a cancellation cut appears in its deltas only.
            if "response.failed" in kinds or "cancelled" in last_status(snapshots):
                output = [item for item in output if item.get("status") != "in_progress"]
            self.true(snapshots[-1]["output"] == output, where, f"ends with another output than {output}")


def last_status(snapshots):
    return [response["status"] for response in snapshots[-1:]]


def parse_fields(frame):
    lines = [line.partition(":") for line in frame.split("\n") if not line.startswith(":")]
    return {name: value.removeprefix(" ") for name, _, value in lines if name}


def accumulate_output(events):
    """Builds the output from its deltas, without the events that repeat a whole part."""
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


def check_exchange(exchange, check):
    method, status = exchange["method"], exchange["status"]
    path = exchange["path"].split("/v1/")[-1].split("/")
    where = f"{method} {'/'.join(path)}"
    if exchange["contentType"] == "text/event-stream":
        check.stream(exchange["body"], exchange["isComplete"], where)
        return
    if not exchange["isComplete"]:
        return
    value = json.loads(exchange["body"])
    if status >= 400:
        check.by(ErrorBody, value, where)
        return
    match method, *path:
        case ["POST", "responses"] | ["GET", "responses", _] | ["POST", "responses", _, "cancel"]:
            check.by(published.ResponseResource, value, where)
        case ["DELETE", "responses", _]:
            check.by(ResponseDeleted, value, where)
        case ["POST", "responses", "input_tokens"]:
            check.by(responses.InputTokenCountResponse, value, where)
        case ["POST", "responses", "compact"]:
            check.by(published.CompactResource, value, where)
        case ["GET", "responses", _, "input_items"]:
            check.page(responses.ResponseItemList, value, where)
        case ["POST", "conversations"] | ["GET" | "POST", "conversations", _]:
            check.by(conversations.Conversation, value, where)
        case ["DELETE", "conversations", _]:
            check.by(conversations.ConversationDeletedResource, value, where)
        case ["GET" | "POST", "conversations", _, "items"]:
            check.page(conversations.ConversationItemList, value, where)
        case ["GET", "conversations", _, "items", _]:
            check.by(Item, value, where)
        case ["DELETE", "conversations", _, "items", _]:
            check.by(conversations.Conversation, value, where)
        case _:
            check.true(False, where, "has no shape to be checked by")


def main():
    check = Check()
    for line in sys.stdin:
        exchange = json.loads(line)
        try:
            check_exchange(exchange, check)
        except (KeyError, TypeError, ValueError) as error:
            check.faults.append(f"{exchange['method']} {exchange['path']}: {error!r}: {exchange['body'][:400]}")
    faults = [f"{fault} ({times} times)" for fault, times in Counter(check.faults).items()]
    print(json.dumps({"faults": faults, "checked": check.checked}))


if __name__ == "__main__":
    main()
