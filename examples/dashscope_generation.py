"""Streams an answer of the native API with the dashscope client."""

import os

import dashscope

dashscope.base_http_api_url = os.environ.get("PARLEY_URL", "http://127.0.0.1:8000") + "/api/v1"
responses = dashscope.Generation.call(
    api_key=os.environ["PARLEY_KEY"],
    model="svc-plus",
    messages=[{"role": "user", "content": "Name a color."}],
    result_format="message",
    max_tokens=24,
    stream=True,
    incremental_output=True,
)
for response in responses:
    if response.status_code != 200:
        raise SystemExit(f"{response.status_code} {response.code}: {response.message}")
    print(response.output.choices[0].message.content, end="", flush=True)
print()
