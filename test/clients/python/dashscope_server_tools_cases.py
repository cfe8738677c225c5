"""Search and code interpreter with the dashscope client; started by server-tools.test.ts with the last 1.x and with 2.x.

Its Parley really searches and runs code, and its model always gives the same answers: server-tools-parley.ts.
"""

from cases import case, expect, run
from dashscope_helpers import ask, get_content, expect_failure

QUESTION = [{"role": "user", "content": "Who wrote the first program?"}]
SENTENCE = "Ada Lovelace wrote the first program in 1843."
ANSWER = SENTENCE + " Enough said."
SOURCE = {"index": 1, "title": "Ada Lovelace", "site_name": "Example", "icon": ""}


def search(**options):
    return {"enable_search": True, "search_options": {"enable_source": True, **options}}


def get_results(event):
    """Returns the search results without their URLs, whose port differs in each run."""
    results = [dict(each) for each in event.output["search_info"]["search_results"]]
    expect(all(each.pop("url").endswith("/ada") for each in results), event)
    return results


@case("gets search results with the answer, and the number of searches")
def _():
    answer = ask(QUESTION, **search(enable_citation=True))
    expect(get_content(answer) == ANSWER.replace("1843.", "1843[1]."), answer)
    expect(get_results(answer) == [SOURCE], answer)
    expect(answer.usage["plugins"] == {"search": {"count": 1, "strategy": "turbo"}}, answer)


@case("gets search results with an answer in the result format text")
def _():
    answer = ask(QUESTION, result_format="text", **search())
    expect((answer.output.text, get_results(answer)) == (ANSWER, [SOURCE]), answer)


@case("streams pieces, with search results in the first and the last event")
def _():
    events = list(ask(QUESTION, stream=True, incremental_output=True, **search()))
    expect("".join(get_content(event) for event in events) == ANSWER, events)
    received = [position for position, event in enumerate(events) if event.output.get("search_info") is not None]
    expect(received == [0, len(events) - 1], received)
    expect(get_results(events[0]) == get_results(events[-1]) == [SOURCE], events)


@case("streams the whole answer so far, with search results at the end")
def _():
    events = list(ask(QUESTION, stream=True, **search()))
    expect(get_content(events[-1]) == ANSWER, events)
    expect(get_results(events[-1]) == [SOURCE], events)


@case("gets search results only before the answer with prepend_search_result")
def _():
    events = list(ask(QUESTION, stream=True, incremental_output=True, **search(prepend_search_result=True)))
    expect(get_content(events[0]) == "" and get_results(events[0]) == [SOURCE], events[0])
    expect(all(get_results(event) == [] for event in events[1:]), events)
    expect("".join(get_content(event) for event in events) == ANSWER, events)


@case("gets the executed code in the stream of a thinking request")
def _():
    events = list(
        ask(QUESTION, stream=True, incremental_output=True, enable_thinking=True, enable_code_interpreter=True)
    )
    expect("".join(get_content(event) for event in events) == ANSWER, events)
    received = [event.output["tool_info"] for event in events if event.output.get("tool_info") is not None]
    expect(received == [[{"code_interpreter": {"code": "print(1 + 1)"}, "type": "code_interpreter"}]], received)
    expect(events[-1].usage["plugins"] == {"code_interpreter": {"count": 1}}, events[-1])


@case("with invalid search options gets InvalidParameter with the error text of the API")
def _():
    expect_failure(
        ask(QUESTION, **search(search_strategy="agent_max")),
        400,
        "InvalidParameter",
        "The value of the enable_thinking parameter is restricted to True.",
    )
    expect_failure(ask(QUESTION, **search(freshness=8)), 400, "InvalidParameter", "parameters.search_options.freshness", "8")


run()
