"""What the scripted engine's model says next."""

import json


def says(*steps):
    """These pieces, or it waits, or fails."""
    return "script:" + json.dumps(steps)


def call_of(name, **arguments):
    """A call as the model would write it."""
    call = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"
