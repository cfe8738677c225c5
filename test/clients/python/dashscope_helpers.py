"""Helpers of the cases for the 1.x API of the dashscope client. Environment: that of cases.py."""

import logging

import dashscope
from cases import expect, key, origin
from dashscope import Generation
from models import GetWeather

MODEL = "svc-plus"
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "description": "", "parameters": GetWeather.model_json_schema()},
}

# Set in the module, because not every call accepts an address.
dashscope.base_http_api_url = origin() + "/api/v1"
dashscope.api_key = key()
# The client logs each failure that a case provokes.
logging.disable()


def ask(messages=None, **more):
    return Generation.call(**{"model": MODEL, "messages": messages, "result_format": "message", **more})


def get_message(answer):
    expect(answer.status_code == 200, answer)
    return answer.output.choices[0].message


def get_content(answer):
    return get_message(answer).content


def get_finish_reasons(events):
    return [event.output.choices[0].finish_reason for event in events]


def expect_failure(answer, status, code, *words):
    expect((answer.status_code, answer.code) == (status, code), answer)
    expect(all(word in answer.message for word in words), answer)
    expect(bool(answer.request_id) and answer.output is None, answer)
