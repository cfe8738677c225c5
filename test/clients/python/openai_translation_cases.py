"""Translation by the openai client for Python; started by python-translation.test.ts. The model echoes its input."""

import openai
from cases import base_url, case, expect, expect_error, key, run
from openai import OpenAI

OPTIONS = {
    "source_lang": "auto",
    "target_lang": "German",
    "terms": [{"source": "park", "target": "Stadtgarten"}],
    "tm_list": [{"source": "We go.", "target": "Wir gehen."}],
    "domains": "A city guide.",
}


def ask(client, text, options=OPTIONS, **more):
    return client.chat.completions.create(
        model="qwen-mt-plus",
        messages=[{"role": "user", "content": text}],
        extra_body={"translation_options": options},
        **more,
    )


@case("gets the translation with extra_body")
def plain(client):
    raw = client.chat.completions.with_raw_response.create(
        model="qwen-mt-plus",
        messages=[{"role": "user", "content": "The park is big. We go.\nSee {name}."}],
        extra_body={"translation_options": OPTIONS},
    )
    received = raw.parse().choices[0].message.content
    expect(received == "You said: The Stadtgarten is big. Wir gehen.\nYou said: See {name}.", received)
    expect(raw.headers["x-parley-terms"] == "1/1", raw.headers)


@case("gets a stream of segments")
def streamed(client):
    chunks = list(ask(client, "One.\nTwo.", stream=True, stream_options={"include_usage": True}))
    received = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    expect(received == ["You said: One.", "\nYou said: Two."], received)
    expect(chunks[-1].usage.total_tokens > 0, chunks[-1])


@case("with an unknown language raises BadRequestError")
def unknown_language(client):
    error = expect_error(openai.BadRequestError, lambda: ask(client, "One.", {"target_lang": "Frensh"}))
    expect("Current language settings are not supported! Did you mean French?" in error.message, error)


run(OpenAI(base_url=base_url(), api_key=key(), max_retries=0, timeout=60))
