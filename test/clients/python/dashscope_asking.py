"""What the cases of the 1.x surface of the dashscope client share. Environment: that of cases.py."""

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

# Set for the module, because not every call of it takes an address of its own.
dashscope.base_http_api_url = origin() + "/api/v1"
dashscope.api_key = key()
# It logs each failure that a case is to see.
logging.disable()


def ask(messages=None, **more):
    return Generation.call(**{"model": MODEL, "messages": messages, "result_format": "message", **more})


def message_of(answer):
    expect(answer.status_code == 200, answer)
    return answer.output.choices[0].message


def content_of(answer):
    return message_of(answer).content


def reasons_of(events):
    return [event.output.choices[0].finish_reason for event in events]


def expect_failure(answer, status, code, *words):
    expect((answer.status_code, answer.code) == (status, code), answer)
    expect(all(word in answer.message for word in words), answer)
    expect(bool(answer.request_id) and answer.output is None, answer)
