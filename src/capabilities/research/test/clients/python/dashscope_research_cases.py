"""Deep research with the dashscope client; started by research-python.test.ts with the last 1.x and with 2.x.

Its Parley has a fake research pipeline: fake-research-parley.ts.
"""

from cases import case, expect, run
from dashscope_helpers import expect_failure
from dashscope_research_helpers import (
    expect_complete,
    get_content,
    get_findings,
    get_message,
    get_stages,
    research,
    research_async,
)

TOPIC = {"role": "user", "content": "Lighthouses"}
CLARIFYING_QUESTION = "What of “Lighthouses” matters most to you?"
SITE = {"title": "Lighthouses of the north", "description": "Stone towers", "url": "https://example.com/towers"}
ICON = "https://example.com/icon.png"
BODY = "# Brenwick\n\nA lighthouse stands before its harbour since 1874 [[1]]. It is of stone [[1]]."


def turns(answer="That of Brenwick"):
    return [TOPIC, {"role": "assistant", "content": CLARIFYING_QUESTION}, {"role": "user", "content": answer}]


QUERY = [
    ("WebResearch", "streamingQueries"),
    ("WebResearch", "streamingWebResult"),
    ("WebResearch", "WebResultFinished"),
]
STAGES = [
    ("ResearchPlanning", "typing"),
    ("ResearchPlanning", "finished"),
    ("KeepAlive", "typing"),
    *QUERY,
    *QUERY,
    ("KeepAlive", "typing"),
    ("answer", "typing"),
    ("answer", "finished"),
]


def expect_report(events, size="detailed"):
    expect_complete(events)
    expect(get_stages(events) == STAGES, get_stages(events))
    expect(get_content(events, "answer") == f"A {size} report. {BODY}", events)
    expect(get_content(events, "ResearchPlanning") == get_content(events, "WebResearch") == "", events)


@case("gets a clarifying question in pieces")
def _():
    events = list(research([TOPIC]))
    expect_complete(events)
    expect(get_stages(events) == [("answer", "typing"), ("answer", "finished")], events)
    expect(get_content(events, "answer") == CLARIFYING_QUESTION, events)
    expect(all(get_findings(event) == {} for event in events), events)


@case("gets a report phase by phase, with queries, findings and sources")
def _():
    events = list(research(turns()))
    expect_report(events)
    found = [get_findings(event) for event in events if get_message(event)["phase"] == "WebResearch"]
    expect(all(each["query"] == each["research"] and len(each) == 2 for each in found), found)
    queries = [each["research"] for each in found]
    first = [each for each in queries if each["id"] == 1]
    expect({each["id"] for each in queries} == {1, 2}, queries)
    expect("".join(each["query"] for each in first) == "Brenwick lighthouse 1874", first)
    expect("".join(each["researchGoal"] for each in first) == "When it was built", first)
    (sites,) = [each["webSites"] for each in first if "webSites" in each]
    expect(sites[0] == {**SITE, "icon": ICON, "favicon": ICON}, sites)
    (learned,) = [each["learningMap"] for each in first if "learningMap" in each]
    expect(learned == {"1": "A lighthouse of stone stands before the harbour of Brenwick since 1874."}, learned)
    references = [get_findings(event)["references"] for event in events if "references" in get_findings(event)]
    expect(references == [[{**SITE, "icon": ICON, "index_number": 1}]], references)


@case("requests a summary when the client sends output_format")
def _():
    # The synchronous call drops output_format; the asynchronous call sends it in its parameters.
    expect_report(research_async(turns(), output_format="model_summary_report"), "summary")
    expect_report(list(research(turns(), output_format="model_summary_report")))


@case("gets increments whatever incremental_output is")
def _():
    for model, incremental in (("qwen-deep-research", True), ("qwen-deep-research", False), ("svc-deep-research", True)):
        expect_report(list(research(turns(), model=model, incremental_output=incremental, result_format="message")))


@case("gets keep-alive events in silence")
def _():
    events = list(research(turns("Take your time")))
    expect_complete(events)
    silent = [event for event in events if get_message(event)["phase"] == "KeepAlive"]
    expect(len(silent) >= 3 and all(get_message(event)["content"] == "" for event in silent), events)
    expect(get_content(events, "answer") == f"A detailed report. {BODY}", events)


@case("works asynchronously")
def _():
    expect_report(research_async(turns()))


@case("gets a failure in mid-stream as the last event")
def _():
    *events, last = research(turns("Break off"))
    expect(len(events) > 0 and all(get_message(event) for event in events), events)
    expect(last.status_code >= 400 and last.code == "InternalError" and "It stopped." in last.message, last)
    expect(last.request_id == events[0].request_id, last)


@case("without a stream gets InvalidParameter with the prescribed text")
def _():
    words = "This model only support stream mode, please enable the stream parameter to access the model."
    expect_failure(research([TOPIC], stream=False), 400, "InvalidParameter", words)


@case("with invalid messages or an invalid size gets InvalidParameter")
def _():
    for messages, more, words in (
        ([TOPIC, TOPIC], {}, "start and end with a user message (input.messages[1].role"),
        (turns()[:2], {}, "the last message has the role assistant"),
        ([{"role": "system", "content": "Be brief."}, TOPIC], {}, "input.messages[0].role"),
        ([TOPIC], {"output_format": "model_book"}, '"model_detailed_report", "model_summary_report"'),
    ):
        (refused,) = research_async(messages, **more)
        expect_failure(refused, 400, "InvalidParameter", words)


run()
