#!/bin/sh
# Completes code between a prefix and a suffix, as an editor does, with curl.
set -eu
curl --silent --show-error --fail-with-body "${PARLEY_URL:-http://127.0.0.1:8000}/v1/completions" \
  -H "authorization: Bearer $PARLEY_KEY" -H 'content-type: application/json' \
  -d '{"model": "svc-coder-turbo", "prompt": "def add(a, b):\n    return ", "suffix": "\n\nprint(add(1, 2))\n", "max_tokens": 24}'
