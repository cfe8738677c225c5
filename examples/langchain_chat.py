"""Streams an answer with LangChain."""

import os

from langchain_openai import ChatOpenAI

model = ChatOpenAI(
    model="svc-plus",
    api_key=os.environ["PARLEY_KEY"],
    base_url=os.environ.get("PARLEY_URL", "http://127.0.0.1:8000") + "/v1",
    max_tokens=24,
)
for chunk in model.stream("Name a color."):
    print(chunk.text, end="", flush=True)
print()
