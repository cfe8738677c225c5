"""The client's own example of deep research, as it comes with 2.x, started by research-python.test.ts."""

import contextlib
import io

import dashscope_asking  # noqa: F401 sets the address and the key
from cases import case, expect, run
from dashscope.examples.legacy_1x.generation import deep_research

TOPIC = {"role": "user", "content": "Lighthouses"}


def follow(messages):
    """What the example takes for the answer, and what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        # It takes its key from the environment; where none is, from the module.
        answer = deep_research.call_deep_research_model(messages, "step")
    return answer, printed.getvalue()


@case("understands both steps")
def _():
    asked, printed = follow([TOPIC])
    expect(asked == "What of “Lighthouses” matters most to you?", asked, printed)
    report, printed = follow([TOPIC, {"role": "assistant", "content": asked}, {"role": "user", "content": "All"}])
    expect(report.startswith("A detailed report. # Brenwick"), report, printed)
    for part in ("ResearchPlanning", "WebResearch", "When it was built", "https://example.com/towers", "2400", "402"):
        expect(part in printed, part, printed)


run()
