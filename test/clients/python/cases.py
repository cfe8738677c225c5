"""Runs the cases of a script in order. Each prints one JSON line, {"case", "error"}, for python-cases.ts.

Environment: ADDRESS and KEY of a listening Parley.
"""

import json
import os
import traceback

# Timeout of a request or a poll in cases that do not measure time, in seconds. A busy machine is ten times slower than an idle
# one. Slightly below the timeout of a test, so that a hanging request is reported as such.
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


def expect(condition, *details):
    if not condition:
        raise AssertionError(" ".join(repr(detail) for detail in details))


def expect_error(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def run(*arguments):
    """Runs all cases with these arguments."""
    for name, function in CASES.items():
        error = None
        try:
            function(*arguments)
        except Exception:
            error = traceback.format_exc()
        print(json.dumps({"case": name, "error": error}), flush=True)
