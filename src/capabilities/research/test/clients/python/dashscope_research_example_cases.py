"""The deep research example in the 2.x package of the dashscope client; started by research-python.test.ts."""

import contextlib
import io

import dashscope_helpers  # noqa: F401 sets the address and the key
from cases import case, expect, run
from dashscope.examples.legacy_1x.generation import deep_research

TOPIC = {"role": "user", "content": "Lighthouses"}


def run_example(messages):
    """Returns the answer that the example extracts, and its output."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        # The example reads the key from the environment, else from the module.
        answer = deep_research.call_deep_research_model(messages, "step")
    return answer, printed.getvalue()


@case("runs both steps")
def _():
    question, printed = run_example([TOPIC])
    expect(question == "What of “Lighthouses” matters most to you?", question, printed)
    report, printed = run_example([TOPIC, {"role": "assistant", "content": question}, {"role": "user", "content": "All"}])
    expect(report.startswith("A detailed report. # Brenwick"), report, printed)
    for part in ("ResearchPlanning", "WebResearch", "When it was built", "https://example.com/towers", "2400", "402"):
        expect(part in printed, part, printed)


run()
