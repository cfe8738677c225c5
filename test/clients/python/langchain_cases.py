"""LangChain; started by langchain.test.ts."""

from functools import reduce
from operator import add

import openai
from cases import REQUEST_S_MAX, base_url, case, expect, expect_error, key, run
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from models import PERSON_TEXT, WEATHER_QUESTION, WEATHER_RESULT, Person

# Greedy sampling, so that two calls can be compared.
SETTINGS = {"model": "svc-tiny", "temperature": 0, "max_completion_tokens": 120, "max_retries": 0, "timeout": REQUEST_S_MAX}


@tool
def get_weather(city: str) -> str:
    """Get the current weather in a city.

    Args:
        city: The name of the city.
    """
    return WEATHER_RESULT


@tool
def get_time() -> str:
    """Get the time of day."""
    return "12:30"


@case("calls a bound tool")
def bound(chat):
    # The smallest model does not call a tool by its own decision.
    answer = chat.bind_tools([get_weather]).invoke(WEATHER_QUESTION, model="svc-plus")
    (call,) = answer.tool_calls
    expect(call["name"] == "get_weather" and isinstance(call["args"]["city"], str) and call["id"], answer)
    expect(answer.invalid_tool_calls == [] and answer.response_metadata["finish_reason"] == "tool_calls", answer)
    expect(answer.usage_metadata["output_tokens"] > 0, answer.usage_metadata)


@case("calls a forced tool, and any tool when one is required")
def forced(chat):
    named = chat.bind_tools([get_weather, get_time], tool_choice="get_time").invoke("Hello!")
    expect([(call["name"], call["args"]) for call in named.tool_calls] == [("get_time", {})], named)
    either = chat.bind_tools([get_weather, get_time], tool_choice="any").invoke("Hello!")
    expect(len(either.tool_calls) == 1 and either.tool_calls[0]["name"] in ("get_weather", "get_time"), either)


@case("adds the chunks of a tool call up to the whole call")
def streamed(chat):
    bound = chat.bind_tools([get_weather], tool_choice="get_weather")
    chunks = list(bound.stream(WEATHER_QUESTION))
    pieces = [piece for chunk in chunks for piece in chunk.tool_call_chunks]
    expect(len(pieces) > 2 and [piece["name"] for piece in pieces if piece["name"]] == ["get_weather"], pieces)
    whole = reduce(add, chunks)
    expected = bound.invoke(WEATHER_QUESTION).tool_calls
    expect([call["args"] for call in whole.tool_calls] == [call["args"] for call in expected], whole, expected)
    expect(whole.invalid_tool_calls == [], whole)


@case("answers after the result of a tool")
def round_trip(chat):
    question = HumanMessage(WEATHER_QUESTION)
    call = chat.bind_tools([get_weather], tool_choice="any").invoke([question])
    result = get_weather.invoke(call.tool_calls[0])
    expect(isinstance(result, ToolMessage) and result.tool_call_id == call.tool_calls[0]["id"], result)
    answer = chat.bind_tools([get_weather]).invoke([question, call, result])
    expect(answer.content or answer.tool_calls, answer)


def structured(method):
    @case(f"gets a pydantic object with the method {method}")
    def by_method(chat):
        question = f"Describe this person as JSON: {PERSON_TEXT}"
        person = chat.with_structured_output(Person, method=method).invoke(question)
        expect(isinstance(person, Person) and person.name, person)


structured("json_schema")
structured("function_calling")


@case("gets any JSON object with the method json_mode")
def json_mode(chat):
    question = 'Answer in JSON with the key "capital": what is the capital of France?'
    answer = chat.with_structured_output(None, method="json_mode").invoke(question)
    expect(isinstance(answer, dict), answer)


@case("streams growing partial objects")
def streamed_object(chat):
    schema = Person.model_json_schema()
    values = list(chat.with_structured_output(schema, method="json_schema").stream(PERSON_TEXT))
    expect(len(values) > 3 and Person.model_validate(values[-1]), values[-1:])


@case("raises BadRequestError for more than one answer with tools")
def refused(_):
    two = ChatOpenAI(**SETTINGS, base_url=base_url(), api_key=key(), n=2)
    error = expect_error(
        openai.BadRequestError, lambda: two.bind_tools([get_weather]).invoke(WEATHER_QUESTION)
    )
    expect(error.param == "n", error.body)


if __name__ == "__main__":
    run(ChatOpenAI(**SETTINGS, base_url=base_url(), api_key=key()))
