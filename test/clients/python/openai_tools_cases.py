"""Tools and structured answers with the openai client for Python; started by openai-python-tools.test.ts."""

import json

import openai
from cases import REQUEST_S_MAX, base_url, case, expect, expect_error, key, run
from models import PERSON_TEXT, WEATHER_QUESTION, WEATHER_RESULT, GetWeather, Person
from openai import OpenAI, pydantic_function_tool

WEATHER = pydantic_function_tool(GetWeather, name="get_weather")
FORCED = {"type": "function", "function": {"name": "get_weather"}}
# Greedy sampling, so that two calls can be compared.
QUESTION = {
    "model": "svc-plus",
    "messages": [{"role": "user", "content": WEATHER_QUESTION}],
    "temperature": 0,
    "max_tokens": 80,
}
PERSON = {
    **QUESTION,
    "messages": [{"role": "user", "content": f"Describe this person as JSON: {PERSON_TEXT}"}],
    # Beyond the longest person that the schema allows.
    "max_tokens": 300,
    "response_format": Person,
}


@case("parses an answer into a pydantic model")
def parsed(client):
    choice = client.chat.completions.parse(**PERSON).choices[0]
    expect(choice.finish_reason == "stop" and isinstance(choice.message.parsed, Person), choice)
    expect(Person.model_validate_json(choice.message.content) == choice.message.parsed, choice)


@case("parses an answer into a pydantic model at the end of a stream")
def parsed_stream(client):
    with client.chat.completions.stream(**PERSON) as stream:
        events = list(stream)
        final = stream.get_final_completion()
    kinds = {event.type for event in events}
    expect({"chunk", "content.delta", "content.done"} <= kinds, kinds)
    received = "".join(event.delta for event in events if event.type == "content.delta")
    expect(Person.model_validate_json(received) == final.choices[0].message.parsed, received)


@case("raises LengthFinishReasonError when the token limit cuts an answer")
def cut(client):
    expect_error(
        openai.LengthFinishReasonError, lambda: client.chat.completions.parse(**{**PERSON, "max_tokens": 4})
    )


@case("parses the arguments of a pydantic function")
def parsed_arguments(client):
    choice = client.chat.completions.parse(**QUESTION, tools=[WEATHER], tool_choice=FORCED).choices[0]
    (call,) = choice.message.tool_calls
    expect(choice.finish_reason == "tool_calls" and call.id and call.function.name == "get_weather", choice)
    expect(isinstance(call.function.parsed_arguments, GetWeather), call)


@case("gets the arguments of a call in pieces in a stream")
def streamed_arguments(client):
    with client.chat.completions.stream(**QUESTION, tools=[WEATHER], tool_choice="required") as stream:
        events = list(stream)
        final = stream.get_final_completion()
    (call,) = final.choices[0].message.tool_calls
    deltas = [event for event in events if event.type == "tool_calls.function.arguments.delta"]
    done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
    expect("".join(delta.arguments_delta for delta in deltas) == call.function.arguments, deltas, call)
    expect([event.name for event in done] == ["get_weather"], done)
    expect(isinstance(done[0].parsed_arguments, GetWeather), done)
    expect(final.choices[0].finish_reason == "tool_calls", final)


@case("can wait until a stream is done")
def until_done(client):
    with client.chat.completions.stream(**QUESTION, tools=[WEATHER], tool_choice=FORCED) as stream:
        final = stream.until_done().get_final_completion()
    expect(isinstance(final.choices[0].message.tool_calls[0].function.parsed_arguments, GetWeather), final)


@case("sends received messages back unchanged")
def round_trip(client):
    first = client.chat.completions.create(**QUESTION, tools=[WEATHER], tool_choice="required")
    message = first.choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": WEATHER_RESULT}
    for sent in (message, message.model_dump()):
        history = [*QUESTION["messages"], sent, result]
        second = client.chat.completions.create(
            **{**QUESTION, "messages": history, "max_tokens": 32}, tools=[WEATHER]
        )
        answer = second.choices[0].message
        expect(answer.content or answer.tool_calls, second)
        expect(second.usage.prompt_tokens > first.usage.prompt_tokens, second)


@case("calls no function when tool_choice is none")
def forbidden(client):
    choice = client.chat.completions.create(
        **{**QUESTION, "max_tokens": 8}, tools=[WEATHER], tool_choice="none"
    ).choices[0]
    expect(choice.message.tool_calls is None and choice.finish_reason != "tool_calls", choice)


@case("with an unsupported schema raises BadRequestError, which names it")
def bad_schema(client):
    tool = json.loads(json.dumps(WEATHER))
    tool["function"]["parameters"]["properties"]["city"] = {"type": "strnig"}
    error = expect_error(
        openai.BadRequestError, lambda: client.chat.completions.create(**QUESTION, tools=[tool])
    )
    expect(error.param.startswith("tools[0].function.parameters") and "city" in error.message, error.body)
    expect(error.code == "invalid_parameter_error", error.body)


if __name__ == "__main__":
    run(OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=REQUEST_S_MAX))
