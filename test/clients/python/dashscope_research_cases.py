"""Deep research with the dashscope client, started by research-python.test.ts with the last 1.x and with 2.x.

The Parley that it talks to plays what is researched: research-parley.ts.
"""

from cases import case, expect, run
from dashscope_asking import expect_failure
from dashscope_researching import content_of, expect_whole, found_in, message_of, research, research_async, stages_of

TOPIC = {"role": "user", "content": "Lighthouses"}
ASKED_BACK = "What of “Lighthouses” matters most to you?"
SITE = {"title": "Lighthouses of the north", "description": "Stone towers", "url": "https://example.com/towers"}
ICON = "https://example.com/icon.png"
BODY = "# Brenwick\n\nA lighthouse stands before its harbour since 1874 [[1]]. It is of stone [[1]]."


def turns(answer="That of Brenwick"):
    return [TOPIC, {"role": "assistant", "content": ASKED_BACK}, {"role": "user", "content": answer}]


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
    expect_whole(events)
    expect(stages_of(events) == STAGES, stages_of(events))
    expect(content_of(events, "answer") == f"A {size} report. {BODY}", events)
    expect(content_of(events, "ResearchPlanning") == content_of(events, "WebResearch") == "", events)


@case("is asked back, piece by piece")
def _():
    events = list(research([TOPIC]))
    expect_whole(events)
    expect(stages_of(events) == [("answer", "typing"), ("answer", "finished")], events)
    expect(content_of(events, "answer") == ASKED_BACK, events)
    expect(all(found_in(event) == {} for event in events), events)


@case("gets a report, phase by phase, with what was looked for, what was found and where from")
def _():
    events = list(research(turns()))
    expect_report(events)
    found = [found_in(event) for event in events if message_of(event)["phase"] == "WebResearch"]
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
    told = [found_in(event)["references"] for event in events if "references" in found_in(event)]
    expect(told == [[{**SITE, "icon": ICON, "index_number": 1}]], told)


@case("asks for a summary, where the client passes that on")
def _():
    # The synchronous call takes the wish and drops it; the asynchronous one has it in its parameters.
    expect_report(research_async(turns(), output_format="model_summary_report"), "summary")
    expect_report(list(research(turns(), output_format="model_summary_report")))


@case("gets increments whatever it says of them")
def _():
    for model, incremental in (("qwen-deep-research", True), ("qwen-deep-research", False), ("svc-deep-research", True)):
        expect_report(list(research(turns(), model=model, incremental_output=incremental, result_format="message")))


@case("is kept alive in silence")
def _():
    events = list(research(turns("Take your time")))
    expect_whole(events)
    silent = [event for event in events if message_of(event)["phase"] == "KeepAlive"]
    expect(len(silent) >= 3 and all(message_of(event)["content"] == "" for event in silent), events)
    expect(content_of(events, "answer") == f"A detailed report. {BODY}", events)


@case("gets all of it asynchronously")
def _():
    expect_report(research_async(turns()))


@case("sees a failure in mid-stream as its last event")
def _():
    *events, last = research(turns("Break off"))
    expect(len(events) > 0 and all(message_of(event) for event in events), events)
    expect(last.status_code >= 400 and last.code == "InternalError" and "It stopped." in last.message, last)
    expect(last.request_id == events[0].request_id, last)


@case("without a stream gets InvalidParameter, in the words that are known")
def _():
    words = "This model only support stream mode, please enable the stream parameter to access the model."
    expect_failure(research([TOPIC], stream=False), 400, "InvalidParameter", words)


@case("with messages or sizes that cannot be gets InvalidParameter")
def _():
    for messages, more, words in (
        ([TOPIC, TOPIC], {}, "begin and end with a user message (input.messages[1].role"),
        (turns()[:2], {}, "the last one is the assistant's"),
        ([{"role": "system", "content": "Be brief."}, TOPIC], {}, "input.messages[0].role"),
        ([TOPIC], {"output_format": "model_book"}, '"model_detailed_report", "model_summary_report"'),
    ):
        (refused,) = research_async(messages, **more)
        expect_failure(refused, 400, "InvalidParameter", words)


run()
