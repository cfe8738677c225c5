"""Sends a message with the anthropic client."""

import os

from anthropic import Anthropic

client = Anthropic(
    auth_token=os.environ["PARLEY_KEY"],
    base_url=os.environ.get("PARLEY_URL", "http://127.0.0.1:8000") + "/apps/anthropic",
)
message = client.messages.create(
    model="svc-plus", max_tokens=24, messages=[{"role": "user", "content": "Name a color."}]
)
print(message.content[0].text)
