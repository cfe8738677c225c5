"""Streams a chat completion with the openai client."""

import os

from openai import OpenAI

client = OpenAI(api_key=os.environ["PARLEY_KEY"], base_url=os.environ.get("PARLEY_URL", "http://127.0.0.1:8000") + "/v1")
stream = client.chat.completions.create(
    model="svc-plus",
    messages=[{"role": "user", "content": "Name a color."}],
    max_tokens=24,
    stream=True,
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="", flush=True)
print()
