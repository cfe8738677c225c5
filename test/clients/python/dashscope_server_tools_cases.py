"""Searches and programs with the dashscope client, started by server-tools-python.test.ts with the last 1.x and with 2.x.

The Parley that it talks to really searches and computes, and its model always answers alike: working-parley.ts.
"""

from cases import case, expect, run
from dashscope_asking import ask, content_of, expect_failure

QUESTION = [{"role": "user", "content": "Who wrote the first program?"}]
SENTENCE = "Ada Lovelace wrote the first program in 1843."
SAID = SENTENCE + " Enough said."
SOURCE = {"index": 1, "title": "Ada Lovelace", "site_name": "Example", "icon": ""}


def search(**options):
    return {"enable_search": True, "search_options": {"enable_source": True, **options}}


def results_of(event):
    """Without their addresses, which are those of a server on a port of its own."""
    results = [dict(each) for each in event.output["search_info"]["search_results"]]
    expect(all(each.pop("url").endswith("/ada") for each in results), event)
    return results


@case("gets what was found beside the answer, and the count")
def _():
    answer = ask(QUESTION, **search(enable_citation=True))
    expect(content_of(answer) == SAID.replace("1843.", "1843[1]."), answer)
    expect(results_of(answer) == [SOURCE], answer)
    expect(answer.usage["plugins"] == {"search": {"count": 1, "strategy": "turbo"}}, answer)


@case("gets it as text, too")
def _():
    answer = ask(QUESTION, result_format="text", **search())
    expect((answer.output.text, results_of(answer)) == (SAID, [SOURCE]), answer)


@case("streams pieces, with what was found in the first and the last")
def _():
    events = list(ask(QUESTION, stream=True, incremental_output=True, **search()))
    expect("".join(content_of(event) for event in events) == SAID, events)
    told = [position for position, event in enumerate(events) if event.output.get("search_info") is not None]
    expect(told == [0, len(events) - 1], told)
    expect(results_of(events[0]) == results_of(events[-1]) == [SOURCE], events)


@case("streams the whole answer so far, with what was found at the end")
def _():
    events = list(ask(QUESTION, stream=True, **search()))
    expect(content_of(events[-1]) == SAID, events)
    expect(results_of(events[-1]) == [SOURCE], events)


@case("gets what was found before the answer, and then no more")
def _():
    events = list(ask(QUESTION, stream=True, incremental_output=True, **search(prepend_search_result=True)))
    expect(content_of(events[0]) == "" and results_of(events[0]) == [SOURCE], events[0])
    expect(all(results_of(event) == [] for event in events[1:]), events)
    expect("".join(content_of(event) for event in events) == SAID, events)


@case("gets programs while thinking, streamed")
def _():
    events = list(
        ask(QUESTION, stream=True, incremental_output=True, enable_thinking=True, enable_code_interpreter=True)
    )
    expect("".join(content_of(event) for event in events) == SAID, events)
    told = [event.output["tool_info"] for event in events if event.output.get("tool_info") is not None]
    expect(told == [[{"code_interpreter": {"code": "print(1 + 1)"}, "type": "code_interpreter"}]], told)
    expect(events[-1].usage["plugins"] == {"code_interpreter": {"count": 1}}, events[-1])


@case("with a wish that cannot be gets InvalidParameter, in the words that are known")
def _():
    expect_failure(
        ask(QUESTION, **search(search_strategy="agent_max")),
        400,
        "InvalidParameter",
        "The value of the enable_thinking parameter is restricted to True.",
    )
    expect_failure(ask(QUESTION, **search(freshness=8)), 400, "InvalidParameter", "parameters.search_options.freshness", "8")


run()
