"""Deep research over real documents with the dashscope client, started by researched-python.test.ts with the last 1.x and with 2.x.

The Parley that it talks to is a whole one, of which only the model is played: corpus-parley.ts.
"""

import re

from cases import case, expect, run
from dashscope_researching import content_of, expect_whole, found_in, message_of, research, research_async, stages_of

PLUGINS = "Plugins and encapsulation in Fastify"
HOOKS = "Hooks and the request lifecycle in Fastify"
LOGGING = "Logging with pino and its transports"
REFERENCE = {"icon", "index_number", "title", "description", "url"}
# Of words, which are the tokens of the played model.
DETAILED = (5100, 6900)
SUMMARY = (1500, 2000)


def told(events):
    """All but what only says that it goes on."""
    return [event for event in events if message_of(event)["phase"] != "KeepAlive"]


def ask_back(topic, ask=research):
    """The turns that the second step is asked with: the topic, what was asked back, and an answer to it."""
    asked = [{"role": "user", "content": topic}]
    events = list(ask(asked))
    expect_whole(events)
    expect(stages_of(told(events)) == [("answer", "typing"), ("answer", "finished")], events)
    question = content_of(events, "answer")
    expect(question.endswith("?") and events[-1].usage.input_tokens > 0, events)
    return [*asked, {"role": "assistant", "content": question}, {"role": "user", "content": "All of it."}]


def expect_report(events, size):
    expect_whole(events)
    expect(events[-1].usage.input_tokens > 0, events[-1])
    said = told(events)
    expect_phases(said)
    expect_queries([found_in(event)["research"] for event in said if message_of(event)["phase"] == "WebResearch"])
    report = content_of(events, "answer")
    references = [found_in(event)["references"] for event in said if "references" in found_in(event)][-1]
    expect(len(references) > 0, references)
    for reference in references:
        expect(set(reference) == REFERENCE and None not in reference.values(), reference)
        expect(reference["title"] and reference["url"].startswith("parley-index:packages/"), reference)
    cited = {int(number) for number in re.findall(r"\[\[(\d+)\]\]", report)}
    expect(cited == {reference["index_number"] for reference in references}, cited, references)
    words = len(report.split())
    expect(size[0] <= words <= size[1], words)


def expect_phases(said):
    phases = [message_of(event)["phase"] for event in said]
    order = ["ResearchPlanning", "WebResearch", "answer"]
    expect(sorted(phases, key=order.index) == phases and set(phases) == set(order), phases)
    stages = stages_of(said)
    expect(stages[:2] == [("ResearchPlanning", "typing"), ("ResearchPlanning", "finished")], stages)
    expect(stages[-2:] == [("answer", "typing"), ("answer", "finished")], stages)


def expect_queries(found):
    """Each has words and an aim; sites and what was learned come with some of them."""
    ids = sorted({each["id"] for each in found})
    expect(ids == list(range(1, len(ids) + 1)), ids)
    for id in ids:
        own = [each for each in found if each["id"] == id]
        expect("".join(each["query"] for each in own), own)
    sites = [site for each in found for site in each.get("webSites", [])]
    expect(len(sites) > 0 and all(None not in site.values() for site in sites), sites)
    learned = [text for each in found for text in each.get("learningMap", {}).values()]
    expect(len(learned) > 0 and all(learned), learned)


@case("is asked back, and has a report of what it answers")
def _():
    expect_report(list(research(ask_back(PLUGINS))), DETAILED)


@case("has a report as long as it says, where the client passes that on")
def _():
    # The synchronous call takes the wish and drops it.
    for topic, output_format, size in (
        (PLUGINS, "model_detailed_report", DETAILED),
        (LOGGING, "model_summary_report", SUMMARY),
    ):
        expect_report(research_async(ask_back(topic, research_async), output_format=output_format), size)


@case("goes on with the same research where its connection broke in the middle of one")
def _():
    turns = ask_back(HOOKS)
    stream = research(turns)
    before = []
    # Nothing comes behind this event: the connection breaks there.
    for event in stream:
        before.append(event)
        if message_of(event)["status"] == "streamingWebResult" and found_in(event)["research"]["id"] == 2:
            break
    stream.close()
    events = list(research(turns))
    expect_report(events, DETAILED)
    expect(events[0].request_id != before[0].request_id, before[0], events[0])
    first = [(event.output, event.usage) for event in told(before)]
    expect([(event.output, event.usage) for event in told(events)][: len(first)] == first, first)


run()
