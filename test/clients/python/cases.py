"""Cases of a client's script: each runs in turn and prints one JSON line, {"case", "error"}, for python-cases.ts.

Environment: ADDRESS and KEY of a listening Parley.
"""

import json
import os
import traceback

# Of one request, and until something that is polled for has come: where a case is about something else. What a busy machine
# does takes ten times as long as on one at rest. A little less than a test may take, so that what hangs is told as what it is.
REQUEST_S_MAX = 170

CASES = {}


def case(name):
    def add(function):
        CASES[name] = function
        return function

    return add


def origin(prefix=""):
    return os.environ[prefix + "ADDRESS"]


def base_url(prefix=""):
    return origin(prefix) + "/compatible-mode/v1"


def key(prefix=""):
    return os.environ[prefix + "KEY"]


def expect(condition, *facts):
    if not condition:
        raise AssertionError(" ".join(repr(fact) for fact in facts))


def expect_error(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def run(*arguments):
    """Hands the arguments to each case."""
    for name, function in CASES.items():
        error = None
        try:
            function(*arguments)
        except Exception:
            error = traceback.format_exc()
        print(json.dumps({"case": name, "error": error}), flush=True)
