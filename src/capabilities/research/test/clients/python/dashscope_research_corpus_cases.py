"""Deep research over real documents with the dashscope client, 1.x and 2.x; started by research-corpus-python.test.ts.

Its Parley is complete except for a fake model: corpus-parley.ts.
"""

import re

from cases import case, expect, run
from dashscope_research_helpers import (
    expect_complete,
    get_content,
    get_findings,
    get_message,
    get_stages,
    research,
    research_async,
)

PLUGINS = "Plugins and encapsulation in Fastify"
HOOKS = "Hooks and the request lifecycle in Fastify"
LOGGING = "Logging with pino and its transports"
REFERENCE = {"icon", "index_number", "title", "description", "url"}
# Lengths of reports in words. The fake model has one token per word.
DETAILED = (5100, 6900)
SUMMARY = (1500, 2000)

# A report is shorter where the sources say little about the question, and says so.
IS_SHORT = "Nothing more was found that could be reported."


def without_keep_alive(events):
    """Returns the events other than keep-alive events."""
    return [event for event in events if get_message(event)["phase"] != "KeepAlive"]


def clarify(topic, ask=research):
    """Returns the messages of the second step: the topic, the clarifying question, and an answer to it."""
    messages = [{"role": "user", "content": topic}]
    events = list(ask(messages))
    expect_complete(events)
    expect(get_stages(without_keep_alive(events)) == [("answer", "typing"), ("answer", "finished")], events)
    question = get_content(events, "answer")
    expect(question.endswith("?") and events[-1].usage.input_tokens > 0, events)
    return [*messages, {"role": "assistant", "content": question}, {"role": "user", "content": "All of it."}]


def expect_report(events, size):
    expect_complete(events)
    expect(events[-1].usage.input_tokens > 0, events[-1])
    visible = without_keep_alive(events)
    expect_phases(visible)
    expect_queries([get_findings(event)["research"] for event in visible if get_message(event)["phase"] == "WebResearch"])
    report = get_content(events, "answer")
    references = [get_findings(event)["references"] for event in visible if "references" in get_findings(event)][-1]
    expect(len(references) > 0, references)
    for reference in references:
        expect(set(reference) == REFERENCE and None not in reference.values(), reference)
        expect(reference["title"] and reference["url"].startswith("parley-index:packages/"), reference)
    cited = {int(number) for number in re.findall(r"\[\[(\d+)\]\]", report)}
    expect(cited == {reference["index_number"] for reference in references}, cited, references)
    words = len(report.split())
    expect(words <= size[1] and (words >= size[0]) == (IS_SHORT not in report), words, report[-500:])
    expect(events[-1].output.finish_reason == "stop" or IS_SHORT in report, events[-1])


def expect_phases(visible):
    phases = [get_message(event)["phase"] for event in visible]
    order = ["ResearchPlanning", "WebResearch", "answer"]
    expect(sorted(phases, key=order.index) == phases and set(phases) == set(order), phases)
    stages = get_stages(visible)
    expect(stages[:2] == [("ResearchPlanning", "typing"), ("ResearchPlanning", "finished")], stages)
    expect(stages[-2:] == [("answer", "typing"), ("answer", "finished")], stages)


def expect_queries(found):
    """Each query has a text. Some queries have sites and learned facts."""
    ids = sorted({each["id"] for each in found})
    expect(ids == list(range(1, len(ids) + 1)), ids)
    for id in ids:
        of_query = [each for each in found if each["id"] == id]
        expect("".join(each["query"] for each in of_query), of_query)
    sites = [site for each in found for site in each.get("webSites", [])]
    expect(len(sites) > 0 and all(None not in site.values() for site in sites), sites)
    learned = [text for each in found for text in each.get("learningMap", {}).values()]
    expect(len(learned) > 0 and all(learned), learned)


@case("gets a clarifying question, and a report after the answer")
def _():
    expect_report(list(research(clarify(PLUGINS))), DETAILED)


@case("gets a report of at most the requested size when the client sends output_format")
def _():
    # The synchronous call drops output_format.
    for topic, output_format, size in (
        (PLUGINS, "model_detailed_report", DETAILED),
        (LOGGING, "model_summary_report", SUMMARY),
    ):
        expect_report(research_async(clarify(topic, research_async), output_format=output_format), size)


@case("resumes the same research run after its connection broke")
def _():
    turns = clarify(HOOKS)
    stream = research(turns)
    before = []
    # The proxy breaks the connection at this event, so no event follows.
    for event in stream:
        before.append(event)
        if get_message(event)["status"] == "streamingWebResult" and get_findings(event)["research"]["id"] == 2:
            break
    stream.close()
    events = list(research(turns))
    expect_report(events, DETAILED)
    expect(events[0].request_id != before[0].request_id, before[0], events[0])
    first = [(event.output, event.usage) for event in without_keep_alive(before)]
    expect([(event.output, event.usage) for event in without_keep_alive(events)][: len(first)] == first, first)


run()
