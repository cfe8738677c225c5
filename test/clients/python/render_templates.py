"""Renders chat templates as transformers does: reads jobs as JSON from standard input and prints results as JSON.

Transformers' sandbox refuses to change lists (`append`). The templates of some models do so, because other engines
allow it; it is allowed here, and in Parley.

A job has a template and a list of variables; a result is `{"result": text}` or `{"error": name of the exception}`.
"""

import copy
import datetime
import json
import sys

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import SandboxedEnvironment


class GenerationTag(Extension):
    """The tag `generation`, whose body is rendered as it is."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment = SandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[GenerationTag, loopcontrols]
)
environment.filters["tojson"] = to_json
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = lambda format: datetime.datetime.now().strftime(format)


def get_result(run):
    try:
        return {"result": run()}
    except jinja2.exceptions.TemplateSyntaxError:
        return {"error": "TemplateSyntaxError"}
    except Exception as error:
        return {"error": type(error).__name__}


def render(job):
    # Compiling takes much longer than rendering; its error is that of each result.
    compiled = get_result(lambda: environment.from_string(job["template"]))
    if "error" in compiled:
        return [compiled for _ in job["variables"]]
    template = compiled["result"]
    return [get_result(lambda: template.render(**copy.deepcopy(variables))) for variables in job["variables"]]


json.dump([render(job) for job in json.load(sys.stdin)], sys.stdout)
