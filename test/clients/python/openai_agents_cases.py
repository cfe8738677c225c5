"""The agents SDK of OpenAI for Python; started by openai-agents.test.ts."""

import asyncio

import agents
from agents import (
    Agent,
    ModelSettings,
    OpenAIConversationsSession,
    OpenAIProvider,
    OpenAIResponsesCompactionSession,
    RunConfig,
    Runner,
    SQLiteSession,
)
from cases import REQUEST_S_MAX, base_url, case, expect, key, run
from openai import AsyncOpenAI
from openai.types.shared import Reasoning
from pydantic import BaseModel
from engine_scripts import encode_tool_call, encode_script

agents.set_tracing_disabled(True)
NO_THOUGHT = ModelSettings(reasoning=Reasoning(effort="none"))


class City(BaseModel):
    city: str


@agents.function_tool
def get_weather(city: str) -> str:
    """Get the current weather in a city. The result is the script of the model's next answer."""
    return encode_script(f"It is sunny in {city}", ".")


def create_agent(**more):
    settings = {"tools": [get_weather], "model": "svc-plus", "model_settings": NO_THOUGHT, **more}
    return Agent(name="Forecaster", instructions="You tell the weather.", **settings)


def asynchronous(name):
    """Declares a case that gets a client and a run configuration. The client closes at the end of the case."""

    def add(work):
        async def session():
            async with AsyncOpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=REQUEST_S_MAX) as client:
                provider = OpenAIProvider(openai_client=client, use_responses=True)
                await work(client, RunConfig(model_provider=provider, tracing_disabled=True))

        case(name)(lambda: asyncio.run(session()))
        return work

    return add


async def ask(agent, text, *, is_streamed=False, **more):
    if not is_streamed:
        return await Runner.run(agent, text, **more)
    result = Runner.run_streamed(agent, text, **more)
    kinds = [event.data.type async for event in result.stream_events() if event.type == "raw_response_event"]
    expect(kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds)
    return result


async def three_turns(session, config, is_streamed):
    """Runs three turns of an agent. Each turn is a question, a call, its result and an answer."""
    cities = ["Paris", "Lyon", "Nice"]
    for city in cities:
        question = encode_script(encode_tool_call("get_weather", city=city))
        result = await ask(create_agent(), question, session=session, run_config=config, is_streamed=is_streamed)
        expect(result.final_output == f"It is sunny in {city}.", result.final_output)
        # One response for the call and one for the answer.
        expect(len(result.raw_responses) == 2, result.raw_responses)
    items = await session.get_items()
    kinds = ["message", "function_call", "function_call_output", "message"]
    expect([item.get("type", "message") for item in items] == kinds * 3, items)
    calls = [item for item in items if item.get("type") == "function_call"]
    results = [item for item in items if item.get("type") == "function_call_output"]
    expect([call["call_id"] for call in calls] == [result["call_id"] for result in results], calls, results)
    expect([city in call["arguments"] for city, call in zip(cities, calls)] == [True] * 3, calls)
    tokens = [response.usage.input_tokens for response in result.raw_responses]
    last = await ask(create_agent(), encode_script("You are welcome."), session=session, run_config=config)
    # The question is short, so a longer prompt shows that the history is included.
    expect(last.raw_responses[0].usage.input_tokens > max(tokens), last.raw_responses, tokens)
    await session.clear_session()


for streamed in (False, True):
    suffix = ", streamed" if streamed else ""

    @asynchronous("runs an agent with a tool over three turns, with a session in conversations" + suffix)
    async def in_conversations(client, config, is_streamed=streamed):
        session = OpenAIConversationsSession(openai_client=client)
        await three_turns(session, config, is_streamed)

    @asynchronous("runs an agent with a tool over three turns, with a session in SQLite" + suffix)
    async def in_sqlite(_, config, is_streamed=streamed):
        await three_turns(SQLiteSession("weather"), config, is_streamed)


@asynchronous("stores the thoughts of an agent in its session, and sends them back")
async def thoughts(client, config):
    session = OpenAIConversationsSession(openai_client=client)
    agent = create_agent(model_settings=ModelSettings(reasoning=Reasoning(effort="high", summary="auto")))
    question = encode_script("A call", " will do.", "</think>", encode_tool_call("get_weather", city="Paris"))
    for is_streamed in (False, True):
        result = await ask(agent, question, session=session, run_config=config, is_streamed=is_streamed)
        kinds = [item.type for response in result.raw_responses for item in response.output]
        expect(kinds[:2] == ["reasoning", "function_call"], kinds)
    items = await session.get_items()
    summaries = [item["summary"][0]["text"] for item in items if item.get("type") == "reasoning"]
    expect(summaries.count("A call will do.") == 2, items)


@asynchronous("runs an agent in a conversation that the service appends to")
async def appended(client, config):
    conversation = await client.conversations.create()
    for is_streamed in (False, True):
        question = encode_script(encode_tool_call("get_weather", city="Paris"))
        options = {"conversation_id": conversation.id, "run_config": config}
        result = await ask(create_agent(), question, is_streamed=is_streamed, **options)
        expect(result.final_output == "It is sunny in Paris.", result.final_output)
    kinds = [item.type async for item in client.conversations.items.list(conversation.id, order="asc")]
    expect(kinds == ["message", "function_call", "function_call_output", "message"] * 2, kinds)


@asynchronous("runs an agent that continues from its last response")
async def chained(_, config):
    question = encode_script(encode_tool_call("get_weather", city="Paris"))
    first = await ask(create_agent(), question, run_config=config, auto_previous_response_id=True)
    expect(first.final_output == "It is sunny in Paris.", first.final_output)
    second = await ask(
        create_agent(), question, run_config=config, previous_response_id=first.last_response_id, is_streamed=True
    )
    expect(second.final_output == "It is sunny in Paris.", second.final_output)
    counts = [result.raw_responses[0].usage.input_tokens for result in (first, second)]
    expect(counts[1] > counts[0], counts)


@asynchronous("gets the newest items of a session, pops one, and clears it")
async def session_items(client, config):
    session = OpenAIConversationsSession(openai_client=client)
    await session.add_items([{"role": "user", "content": text} for text in ("a", "b", "c")])
    newest = await session.get_items(limit=2)
    expect([item["content"][0]["text"] for item in newest] == ["b", "c"], newest)
    popped = await session.pop_item()
    expect(popped["content"][0]["text"] == "c", popped)
    conversation = session.session_id
    await session.clear_session()
    expect(await session.get_items() == [] and session.session_id != conversation, session.session_id)


@asynchronous("adds more items to a session than one request may carry")
async def many_items(client, config):
    session = OpenAIConversationsSession(openai_client=client)
    texts = [str(index) for index in range(45)]
    await session.add_items([{"role": "user", "content": text} for text in texts])
    items = await session.get_items()
    expect([item["content"][0]["text"] for item in items] == texts, items)


@asynchronous("parses an answer into the output type of an agent")
async def typed(_, config):
    agent = create_agent(tools=[], output_type=City)
    for is_streamed in (False, True):
        result = await ask(agent, encode_script('{"city":', '"Paris"}'), run_config=config, is_streamed=is_streamed)
        expect(result.final_output == City(city="Paris"), result.final_output)


@asynchronous("compacts the history of a session, and continues from the summary")
async def compacted(client, config):
    for mode in ("input", "previous_response_id"):
        stored = SQLiteSession(f"compacted-{mode}")
        session = OpenAIResponsesCompactionSession(
            session_id="compacted",
            underlying_session=stored,
            client=client,
            model="gpt-summary",
            compaction_mode=mode,
            should_trigger_compaction=lambda context: len(context["compaction_candidate_items"]) >= 4,
        )
        # Two questions with a call each: the second one leads to four other items, and so to the compaction.
        for city in ("Paris", "Lyon"):
            question = encode_script(encode_tool_call("get_weather", city=city))
            result = await ask(create_agent(), question, session=session, run_config=config)
            expect(result.final_output == f"It is sunny in {city}.", result.final_output)
        items = await stored.get_items()
        kinds = [item.get("role") or item["type"] for item in items]
        expect(kinds == ["user", "user", "compaction"], mode, items)
        expect(items[0]["content"][0]["text"] == encode_script(encode_tool_call("get_weather", city="Paris")), items)
        # The scripted engine echoes a text without a script: what the model read is in its summary.
        last = encode_script({"when": "Summary of the conversation so far", "say": ["It remembers."]}, "It forgot.")
        result = await ask(create_agent(), last, session=session, run_config=config)
        expect(result.final_output == "It remembers.", result.final_output)
        await session.run_compaction({"force": True, "compaction_mode": "input"})
        kinds = [item.get("role") or item["type"] for item in await stored.get_items()]
        expect(kinds == ["user", "user", "user", "compaction"], mode, kinds)


if __name__ == "__main__":
    run()
