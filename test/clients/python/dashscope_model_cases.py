"""The 1.x API of the dashscope client with a real model; started by dashscope-python.test.ts with the last 1.x."""

from cases import case, expect, run
from dashscope import TextEmbedding, TextReRank, Tokenization
from dashscope_helpers import MODEL, WEATHER, ask, get_content, expect_failure, get_message, get_finish_reasons
from models import WEATHER_QUESTION, WEATHER_RESULT, GetWeather

FORCED = {"type": "function", "function": {"name": "get_weather"}}


def ask_model(content, **more):
    messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
    # Greedy sampling, so that two calls can be compared; short, because the machine is slow.
    return ask(messages, **{"temperature": 0, "max_tokens": 16, **more})


@case("calls a forced tool, and answers after its result")
def tools():
    question = {"role": "user", "content": WEATHER_QUESTION}
    # The call is forced, because the smallest model does not always call the tool.
    answer = ask_model([question], tools=[WEATHER], tool_choice=FORCED, max_tokens=80)
    called = get_message(answer)
    (call,) = called.tool_calls
    expect(get_finish_reasons([answer]) == ["tool_calls"] and called.content == "", answer)
    expect(call["type"] == "function" and call["index"] == 0 and call["id"], call)
    expect(call["function"]["name"] == "get_weather", call)
    GetWeather.model_validate_json(call["function"]["arguments"])
    result = {"role": "tool", "content": WEATHER_RESULT, "tool_call_id": call["id"], "name": "get_weather"}
    after = get_message(ask_model([question, called, result], tools=[WEATHER], max_tokens=32))
    expect(after.content or after.get("tool_calls"), after)


@case("calls no tool with tool_choice none")
def tool_choice():
    answer = ask_model(WEATHER_QUESTION, tools=[WEATHER], tool_choice="none", max_tokens=8)
    expect(not get_message(answer).get("tool_calls"), answer)


@case("gets a tool call in pieces, or joined by the client")
def tools_streamed():
    how = {"tools": [WEATHER], "tool_choice": FORCED, "max_tokens": 80, "stream": True}
    events = list(ask_model(WEATHER_QUESTION, **how, incremental_output=True))
    pieces = [piece for event in events for piece in get_message(event).get("tool_calls") or []]
    expect([piece["function"]["name"] for piece in pieces if "name" in piece["function"]] == ["get_weather"], pieces)
    expect(pieces[0]["id"] and all(piece["id"] == "" for piece in pieces[1:]), pieces)
    expect(all(piece["index"] == 0 and piece["type"] == "function" for piece in pieces), pieces)
    arguments = "".join(piece["function"].get("arguments", "") for piece in pieces)
    GetWeather.model_validate_json(arguments)
    expect(len(pieces) > 1 and get_finish_reasons(events)[-1] == "tool_calls", pieces)
    for more in ({"incremental_output": False}, {}):
        (call,) = get_message(list(ask_model(WEATHER_QUESTION, **how, **more))[-1]).tool_calls
        expect(call["function"] == {"name": "get_weather", "arguments": arguments}, more, call)
        expect(call["id"], more, call)


@case("gets the thought separate from the answer")
def thinking():
    how = {"enable_thinking": True, "thinking_budget": 12}
    # Computing a cached prompt rounds otherwise than a new one, so the compared answers all come after the first.
    ask_model("Is 7 a prime number?", **how)
    whole = ask_model("Is 7 a prime number?", **how)
    thought = get_message(whole).reasoning_content
    expect(bool(thought), whole)
    expect(whole.usage["output_tokens_details"]["reasoning_tokens"] > 0, whole.usage)
    # By default, a thinking stream comes in pieces; with incremental_output False, the client joins them.
    for more in ({"incremental_output": True}, {}):
        events = list(ask_model("Is 7 a prime number?", **how, **more, stream=True))
        messages = [get_message(event) for event in events]
        expect("".join(each["reasoning_content"] for each in messages) == thought, more, messages)
        expect("".join(each.content for each in messages) == get_content(whole), more, messages)
        expect(messages[0]["reasoning_content"] and messages[0].content == "", more, messages[0])
    last = get_message(list(ask_model("Is 7 a prime number?", **how, stream=True, incremental_output=False))[-1])
    expect((last.reasoning_content, last.content) == (thought, get_content(whole)), last)


@case("gets the same answer for the same seed")
def seed():
    first, second = (ask_model("Tell me a story.", temperature=1, seed=1234) for _ in range(2))
    expect(get_content(first) == get_content(second), first, second)


@case("gets embeddings of one text and of several")
def embeddings():
    one = TextEmbedding.call(model="svc-embed", input="The sea is blue.")
    (only,) = one.output["embeddings"]
    expect(one.status_code == 200 and only["text_index"] == 0 and one.usage["total_tokens"] > 0, one)
    two = TextEmbedding.call(
        model="svc-embed", input=["The sea is blue.", "Bread"], text_type="document"
    )
    vectors = [item["embedding"] for item in two.output["embeddings"]]
    expect([item["text_index"] for item in two.output["embeddings"]] == [0, 1], two)
    expect(len(vectors[0]) == len(vectors[1]) == len(only["embedding"]) and vectors[0] != vectors[1], two)
    many = TextEmbedding.call(model="svc-embed", input=["text"] * 11)
    expect_failure(many, 400, "InvalidParameter", "batch size is invalid")
    unknown = TextEmbedding.call(model="no-such-model", input="text")
    expect(unknown.status_code == 404 and unknown.code == "ModelNotFound", unknown)


@case("gets documents ordered by relevance")
def rerank():
    ranking = {"query": "what colour is the sea", "documents": ["cats chase mice", "the sea is blue", "what is bread"]}
    ranked = TextReRank.call(model=TextReRank.Models.gte_rerank_v2, **ranking)
    results = ranked.output.results
    expect(ranked.status_code == 200 and [each.index for each in results] == [1, 2, 0], ranked)
    expect(all(1 > one.relevance_score > other.relevance_score > 0 for one, other in zip(results, results[1:])), ranked)
    expect(all(each["document"] is None for each in results) and ranked.usage.total_tokens > 0, ranked)
    best = TextReRank.call(model="qwen3-rerank", **ranking, top_n=1, return_documents=True, instruct="Find facts.")
    (only,) = best.output.results
    # The attribute is always None, because the default of the client's class hides the value.
    expect((only.index, only["document"]) == (1, {"text": "the sea is blue"}), best)
    expect(only.relevance_score == results[0].relevance_score and best.usage == ranked.usage, best, ranked)
    long = TextReRank.call(model="svc-rerank", query="sea", documents=["blue", "bread " * 300])
    expect_failure(long, 400, "InvalidParameter", "Range of input length should be [1, 255]", "input.documents[1]")
    other = TextReRank.call(model=MODEL, **ranking)
    expect_failure(other, 404, "ModelNotFound", "for reranking")


@case("counts tokens")
def tokenizer():
    by_prompt = Tokenization.call(model=MODEL, prompt="The sea is blue.")
    ids, tokens = by_prompt.output["token_ids"], by_prompt.output["tokens"]
    expect(by_prompt.status_code == 200 and len(ids) == len(tokens) > 0, by_prompt)
    expect("".join(tokens).strip() == "The sea is blue.", tokens)
    expect(by_prompt.usage["input_tokens"] == len(ids), by_prompt)
    by_messages = Tokenization.call(
        model=MODEL, messages=[{"role": "user", "content": "The sea is blue."}]
    )
    expect(by_messages.usage["input_tokens"] >= len(ids), by_messages)
    unknown = Tokenization.call(model="no-such-model", prompt="text")
    expect(unknown.status_code == 404 and unknown.code == "ModelNotFound", unknown)


if __name__ == "__main__":
    run()
