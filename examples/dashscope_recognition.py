"""Recognizes speech from a WAV file over the realtime websocket with the dashscope client."""

import os
import sys
import wave

import dashscope
from dashscope.audio.asr import Recognition

url = os.environ.get("PARLEY_URL", "http://127.0.0.1:8000")
dashscope.base_websocket_api_url = url.replace("http", "ws", 1) + "/api-ws/v1/inference"
dashscope.api_key = os.environ["PARLEY_KEY"]

path = sys.argv[1]
with wave.open(path) as audio:
    sample_rate = audio.getframerate()
result = Recognition(model="svc-asr-realtime", format="wav", sample_rate=sample_rate, callback=None).call(path)
if result.status_code != 200:
    raise SystemExit(f"{result.status_code} {result.code}: {result.message}")
for sentence in result.get_sentence() or []:
    print(sentence["text"])
