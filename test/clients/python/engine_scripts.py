"""Scripts for the scripted engine."""

import json


def encode_script(*steps):
    """Encodes a prompt that tells the scripted engine what to do: texts to output, pauses, failures, hangs."""
    return "script:" + json.dumps(steps)


def encode_tool_call(name, **arguments):
    """Encodes a tool call in the markup that a model writes."""
    call = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"
