"""Streams an answer with LlamaIndex."""

import os

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(
    model="svc-plus",
    api_key=os.environ["PARLEY_KEY"],
    api_base=os.environ.get("PARLEY_URL", "http://127.0.0.1:8000") + "/v1",
    is_chat_model=True,
    is_function_calling_model=True,
    context_window=8192,
    max_tokens=24,
)
for part in llm.stream_chat([ChatMessage(role="user", content="Name a color.")]):
    print(part.delta, end="", flush=True)
print()
