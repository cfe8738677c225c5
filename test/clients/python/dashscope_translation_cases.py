"""Translation by the 1.x API of the dashscope client; started by python-translation.test.ts. The model echoes its input."""

from cases import case, expect, run
from dashscope import Generation
from dashscope_helpers import expect_failure

OPTIONS = {"source_lang": "auto", "target_lang": "German", "terms": [{"source": "park", "target": "Stadtgarten"}]}
ANSWER = "You said: The Stadtgarten is big.\nYou said: See {name}."


def ask(text="The park is big.\nSee {name}.", options=OPTIONS, **more):
    messages = [{"role": "user", "content": text}]
    return Generation.call(model="qwen-mt-plus", messages=messages, translation_options=options, **more)


@case("gets the translation with translation_options")
def plain():
    for more in ({}, {"result_format": "message"}):
        answer = ask(**more)
        expect(answer.status_code == 200 and answer.code == "" and answer.message == "", answer)
        (choice,) = answer.output.choices
        expect(choice.message.content == ANSWER and choice.finish_reason == "stop", answer)
        expect(answer.output.text is None and answer.output["model_name"] == "qwen-mt-plus", answer)
        expect(answer.usage.input_tokens > 0 and answer.usage["total_tokens"] > 0, answer)


@case("streams the whole translation so far, or pieces")
def streamed():
    events = list(ask(stream=True))
    expect(events[-1].output.choices[0].message.content == ANSWER, events)
    expect(events[-1].output.choices[0].finish_reason == "stop", events)
    pieces = list(ask(stream=True, incremental_output=True))
    received = [event.output.choices[0].message.content for event in pieces]
    expect("".join(received) == ANSWER and len(received) == 3, received)


@case("with an unknown language gets InvalidParameter")
def unknown_language():
    expect_failure(ask(options={"target_lang": "Frensh"}), 400, "InvalidParameter", "Did you mean French?")


run()
