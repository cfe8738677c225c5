#!/bin/sh
# Streams a chat completion with curl.
set -eu
curl --silent --show-error --fail-with-body --no-buffer "${PARLEY_URL:-http://127.0.0.1:8000}/v1/chat/completions" \
  -H "authorization: Bearer $PARLEY_KEY" -H 'content-type: application/json' \
  -d '{"model": "svc-plus", "stream": true, "max_tokens": 24, "messages": [{"role": "user", "content": "Name a color."}]}'
