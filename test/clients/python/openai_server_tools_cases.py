"""Server tools with the openai client; started by server-tools.test.ts.

Its Parley really searches and runs code, and its model always gives the same answers: server-tools-parley.ts.
"""

from cases import REQUEST_S_MAX, base_url, case, expect, key, run
from openai import OpenAI

MODEL = "svc-plus"
QUESTION = "Who wrote the first program?"
SENTENCE = "Ada Lovelace wrote the first program in 1843."
ANSWER = SENTENCE + " Enough said."

openai = OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=REQUEST_S_MAX)

RESPONSE = {
    "model": MODEL,
    "input": QUESTION,
    "tools": [
        {"type": "web_search", "filters": {"allowed_domains": ["127.0.0.1"]}},
        {"type": "code_interpreter", "container": {"type": "auto"}},
    ],
}


@case("chat completions contain text only, streamed or not")
def _():
    request = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}], "extra_body": {"enable_search": True}}
    answer = openai.chat.completions.create(**request)
    expect(answer.choices[0].message.content == ANSWER, answer)
    with openai.chat.completions.stream(**request) as stream:
        streamed = stream.get_final_completion()
    expect(streamed.choices[0].message.content == ANSWER, streamed)


@case("responses have items and citations, and the stream helper of the client returns the same")
def _():
    whole = openai.responses.create(**RESPONSE)
    with openai.responses.stream(**RESPONSE) as stream:
        types = [event.type for event in stream]
        streamed = stream.get_final_response()
    for response in (whole, streamed):
        search, program, message = response.output
        expect((search.type, search.status, search.action.query) == ("web_search_call", "completed", "first program"), search)
        expect([source.url.endswith("/ada") for source in search.action.sources] == [True], search)
        expect((program.code, program.outputs[0].logs) == ("print(1 + 1)", "2"), program)
        [citation] = message.content[0].annotations
        expect(ANSWER[citation.start_index : citation.end_index] == SENTENCE, citation)
        expect(response.output_text == ANSWER, response)
    expect("response.output_text.annotation.added" in types, types)
    expect("response.code_interpreter_call.interpreting" in types, types)


@case("responses continue from the returned items")
def _():
    first = openai.responses.create(**RESPONSE)
    items = [{"role": "user", "content": QUESTION}, *first.output, {"role": "user", "content": "And then?"}]
    second = openai.responses.with_raw_response.create(**{**RESPONSE, "input": items})
    expect(second.headers.get("x-parley-ignored") is None, second.headers)


run()
