"""The instructor library; started by instructor.test.ts. It runs without retries: the first answer must be valid."""

import instructor
from cases import REQUEST_S_MAX, base_url, case, expect, expect_error, key, run
from instructor.core import IncompleteOutputException
from models import PERSON_TEXT, Person
from openai import OpenAI

# Greedy sampling, so that each run gives the same answer. The token limit is beyond the longest person that the schema allows.
QUESTION = {
    "model": "svc-plus",
    "messages": [{"role": "user", "content": f"Describe this person as JSON: {PERSON_TEXT}"}],
    "temperature": 0,
    "max_tokens": 300,
    "max_retries": 0,
    "response_model": Person,
}


def in_mode(client, mode):
    return instructor.from_openai(client, mode=mode).chat.completions


def define_mode_case(mode):
    @case(f"gets an object in the mode {mode.name}")
    def by_mode(client):
        person, completion = in_mode(client, mode).create_with_completion(**QUESTION)
        expect(isinstance(person, Person) and person.name and person.languages, person)
        expect(completion.usage.completion_tokens > 0, completion)


for each in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA):
    define_mode_case(each)


@case("streams growing partial objects")
def partial(client):
    # In strict mode, it expects enumeration members where JSON has strings.
    states = list(in_mode(client, instructor.Mode.TOOLS).create_partial(**QUESTION, strict=False))
    expect(len(states) > 1 and Person.model_validate(states[-1].model_dump()), states[-1:])


@case("raises IncompleteOutputException when the token limit cuts an object")
def cut(client):
    completions = in_mode(client, instructor.Mode.TOOLS)
    expect_error(IncompleteOutputException, lambda: completions.create(**{**QUESTION, "max_tokens": 4}))


if __name__ == "__main__":
    run(OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=REQUEST_S_MAX))
