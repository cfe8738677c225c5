"""LangChain in its responses mode; started by langchain-responses.test.ts.

Environment in addition to that of cases.py: REAL_ADDRESS and REAL_KEY of a Parley that runs a model.
"""

import asyncio
from functools import reduce
from operator import add

import openai
from cases import REQUEST_S_MAX, base_url, case, expect, expect_error, key, run
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from models import WEATHER_QUESTION, WEATHER_RESULT
from openai import OpenAI
from pydantic import BaseModel
from engine_scripts import encode_tool_call, encode_script

HELLO = encode_script("Hello ", "there.")
CALL_SCRIPT = encode_script(encode_tool_call("get_weather", city="Paris"))


class City(BaseModel):
    city: str


def create_chat(prefix="", **more):
    settings = {"model": "svc-plus", "reasoning": {"effort": "none"}, "max_retries": 0, "timeout": REQUEST_S_MAX, **more}
    return ChatOpenAI(base_url=base_url(prefix), api_key=key(prefix), use_responses_api=True, **settings)


@tool
def get_weather(city: str) -> str:
    """Get the current weather in a city.

    Args:
        city: The name of the city.
    """
    return encode_script(f"It is sunny in {city}.")


def get_types(message):
    return [block["type"] for block in message.content_blocks]


@case("gets an answer, with its id and its usage")
def plain(chat):
    answer = chat.invoke([SystemMessage("Be brief."), HumanMessage(HELLO)])
    expect(answer.text == "Hello there." and answer.response_metadata["id"].startswith("resp_"), answer)
    expect(answer.response_metadata["status"] == "completed", answer.response_metadata)
    usage = answer.usage_metadata
    expect(usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0, usage)


@case("adds the chunks of an answer up to the whole answer")
def streamed(chat):
    chunks = list(chat.stream(HELLO))
    whole = reduce(add, chunks)
    expect(whole.text == "Hello there." and len([chunk for chunk in chunks if chunk.text]) == 2, chunks)
    expect(whole.response_metadata["id"].startswith("resp_"), whole.response_metadata)
    expect(whole.usage_metadata["output_tokens"] > 0, whole.usage_metadata)


@case("gets the thought before the answer, streamed too")
def thought(_):
    chat = create_chat(reasoning={"effort": "high", "summary": "auto"})
    question = encode_script("Easy", ".", "</think>", "Done.")
    for answer in (chat.invoke(question), reduce(add, chat.stream(question))):
        expect(get_types(answer) == ["reasoning", "text"], answer.content_blocks)
        expect(answer.content_blocks[0]["reasoning"] == "Easy." and answer.text.strip() == "Done.", answer)
        expect(answer.usage_metadata["output_token_details"]["reasoning"] > 0, answer.usage_metadata)
        # LangChain sends the thought back with the history.
        again = chat.invoke([HumanMessage(question), answer, HumanMessage(encode_script("No.", "</think>", "Still."))])
        expect(again.text.strip() == "Still.", again)


def get_only_call(answer):
    (call,) = answer.tool_calls
    expect(call["name"] == "get_weather" and call["args"] == {"city": "Paris"} and call["id"], call)
    return call


@case("calls a bound tool, and answers after its result with the messages of LangChain")
def tool_loop(chat):
    bound = chat.bind_tools([get_weather])
    for ask in (bound.invoke, lambda messages: reduce(add, bound.stream(messages))):
        question = HumanMessage(CALL_SCRIPT)
        answer = ask([question])
        expect(answer.invalid_tool_calls == [], answer)
        result = get_weather.invoke(get_only_call(answer))
        final = ask([question, answer, result])
        expect(final.text == "It is sunny in Paris." and final.tool_calls == [], final)


@case("adds the chunks of a tool call up to the whole call")
def streamed_call(chat):
    chunks = list(chat.bind_tools([get_weather]).stream(CALL_SCRIPT))
    pieces = [piece for chunk in chunks for piece in chunk.tool_call_chunks]
    expect([piece["name"] for piece in pieces if piece["name"]] == ["get_weather"], pieces)
    get_only_call(reduce(add, chunks))


@case("continues from the last response")
def chained(chat):
    first = chat.invoke(HELLO)
    second = chat.invoke(encode_script("Again."), previous_response_id=first.response_metadata["id"])
    expect(second.text == "Again.", second)
    history = [HumanMessage(HELLO), AIMessage("Hello there."), HumanMessage(encode_script("Again."))]
    flat = chat.invoke(history)
    expect(second.usage_metadata["input_tokens"] == flat.usage_metadata["input_tokens"], second, flat)


@case("finds the id of the last response in its messages")
def found(_):
    chat = create_chat(use_previous_response_id=True)
    messages = [HumanMessage(CALL_SCRIPT)]
    answer = chat.bind_tools([get_weather]).invoke(messages)
    messages += [answer, get_weather.invoke(get_only_call(answer))]
    final = chat.bind_tools([get_weather]).invoke(messages)
    expect(final.text == "It is sunny in Paris.", final)
    stored = OpenAI(base_url=base_url(), api_key=key()).responses.retrieve(final.response_metadata["id"])
    expect(stored.previous_response_id == answer.response_metadata["id"], stored)


@case("continues a conversation")
def in_conversation(chat):
    client = OpenAI(base_url=base_url(), api_key=key())
    made = client.conversations.create()
    first = chat.invoke(HELLO, conversation=made.id)
    second = reduce(add, chat.stream(encode_script("Again."), conversation={"id": made.id}))
    expect(second.usage_metadata["input_tokens"] > first.usage_metadata["input_tokens"], first, second)
    items = list(client.conversations.items.list(made.id, order="asc"))
    expect([item.content[0].text for item in items] == [HELLO, "Hello there.", encode_script("Again."), "Again."], items)


@case("streams asynchronously")
def asynchronous(chat):
    async def stream():
        return [chunk.text async for chunk in chat.astream(HELLO)]

    expect("".join(asyncio.run(stream())) == "Hello there.")


@case("gets a pydantic object with the method json_schema")
def by_schema(chat):
    structured = chat.with_structured_output(City, method="json_schema")
    question = encode_script('{"city":', '"Paris"}')
    expect(structured.invoke(question) == City(city="Paris"))
    expect(list(structured.stream(question))[-1] == City(city="Paris"))


@case("gets a pydantic object with the method function_calling")
def by_call(chat):
    structured = chat.with_structured_output(City, method="function_calling")
    # The call is forced, so the model only outputs its arguments.
    expect(structured.invoke(encode_script('{"city": "Paris"}')) == City(city="Paris"))


@case("gets any JSON object with the method json_mode")
def by_mode(chat):
    structured = chat.with_structured_output(None, method="json_mode")
    answer = structured.invoke([SystemMessage("Answer in JSON."), HumanMessage(encode_script('{"a": 1}'))])
    expect(answer == {"a": 1}, answer)


@case("reports an answer that the token limit cut")
def cut(_):
    answer = create_chat(max_completion_tokens=2).invoke(encode_script("a ", "b ", "c "))
    expect(answer.text == "a b " and answer.response_metadata["status"] == "incomplete", answer)
    expect(answer.response_metadata["incomplete_details"]["reason"] == "max_output_tokens", answer)


@case("raises BadRequestError for a conversation together with a previous response")
def both(chat):
    sources = {"conversation": "conv_1", "previous_response_id": "resp_1"}
    error = expect_error(openai.BadRequestError, lambda: chat.invoke(HELLO, **sources))
    expect(error.param == "previous_response_id", error.body)


@case("calls a forced tool with a real model, and answers with its result")
def real_tool(_):
    # Greedy sampling, so that each run gives the same answer.
    chat = create_chat("REAL_", temperature=0, max_completion_tokens=32)
    question = HumanMessage(WEATHER_QUESTION)
    call = chat.bind_tools([get_weather], tool_choice="get_weather").invoke([question])
    result = get_weather.invoke(call.tool_calls[0])
    result.content = WEATHER_RESULT
    answer = chat.bind_tools([get_weather]).invoke([question, call, result])
    expect("21" in answer.text or "sunny" in answer.text.lower(), answer)


if __name__ == "__main__":
    run(create_chat())
