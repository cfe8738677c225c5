"""Server tools with the anthropic client; started by server-tools.test.ts.

Its Parley really searches and runs code, and its model always gives the same answers: server-tools-parley.ts.
"""

from anthropic import Anthropic
from cases import REQUEST_S_MAX, case, expect, key, origin, run

MODEL = "svc-plus"
QUESTION = "Who wrote the first program?"
SENTENCE = PASSAGE = "Ada Lovelace wrote the first program in 1843."

anthropic = Anthropic(base_url=origin() + "/apps/anthropic", api_key=key(), max_retries=0, timeout=REQUEST_S_MAX)

MESSAGE = {
    "model": MODEL,
    "max_tokens": 64,
    "messages": [{"role": "user", "content": QUESTION}],
    "tools": [
        {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["127.0.0.1"]},
        {"type": "code_execution_20250522", "name": "code_execution"},
    ],
}


@case("messages have blocks and citations, and the stream helper of the client returns the same")
def _():
    whole = anthropic.messages.create(**MESSAGE)
    with anthropic.messages.stream(**MESSAGE) as stream:
        streamed = stream.get_final_message()
    for message in (whole, streamed):
        use, found, program_use, program, cited, rest = message.content
        expect((use.type, use.name, use.input) == ("server_tool_use", "web_search", {"query": "first program"}), use)
        expect(found.tool_use_id == use.id and found.content[0].url.endswith("/ada"), found)
        expect((program_use.input, program.content.stdout) == ({"code": "print(1 + 1)"}, "2\n"), program)
        expect([cited.text, rest.text] == [SENTENCE, " Enough said."], message)
        expect((cited.citations[0].cited_text, cited.citations[0].url) == (PASSAGE, found.content[0].url), cited)
        expect(message.usage.server_tool_use.web_search_requests == 1, message.usage)


@case("messages continue from the returned blocks")
def _():
    first = anthropic.messages.create(**MESSAGE)
    turns = [*MESSAGE["messages"], {"role": "assistant", "content": first.content}, {"role": "user", "content": "And?"}]
    second = anthropic.messages.with_raw_response.create(**{**MESSAGE, "messages": turns})
    expect(second.headers.get("x-parley-ignored") is None, second.headers)


run()
