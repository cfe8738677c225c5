"""Vocabularies and the recognition that they help, by the dashscope client, started by hearing.test.ts.

The Parley that it talks to hears with real weights, and may fetch from this machine. In names.wav a synthesiser says
"We deploy the Qwen model on Kubernetes."
"""

import functools
import http.server
import json
import pathlib
import threading
import urllib.request

import dashscope
from cases import base_url, case, expect, key, origin, run
from dashscope.audio.asr import Recognition, Transcription, VocabularyService
from openai import OpenAI

SPEECH = pathlib.Path(__file__).parents[2] / "model" / "__fixtures__" / "speech"
SAID = "We deploy the Qwen model on Kubernetes."
WORDS = [{"text": text, "weight": 4} for text in ("Qwen", "Kubernetes", "Grafana")]

dashscope.base_http_api_url = origin() + "/api/v1"
dashscope.base_websocket_api_url = origin().replace("http", "ws", 1) + "/api-ws/v1/inference"
dashscope.api_key = key()


class Site(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Site, directory=SPEECH))
threading.Thread(target=server.serve_forever, daemon=True).start()
SITE = f"http://127.0.0.1:{server.server_port}"


def vocabulary(model):
    return VocabularyService().create_vocabulary(target_model=model, prefix="names", vocabulary=WORDS)


def spoken(**wish):
    recognition = Recognition(model="paraformer-realtime-v2", format="wav", sample_rate=16000, callback=None, **wish)
    result = recognition.call(str(SPEECH / "names.wav"))
    expect(result.status_code == 200, result)
    return " ".join(sentence["text"] for sentence in result.get_sentence())


def filed(**wish):
    ended = Transcription.call(model="paraformer-v2", file_urls=[f"{SITE}/names.wav"], **wish)
    expect(ended.output.task_status == "SUCCEEDED", ended)
    with urllib.request.urlopen(ended.output.results[0]["transcription_url"]) as answer:
        return json.load(answer)["transcripts"][0]["text"]


def is_missed(text):
    return "deploy" in text and "Qwen" not in text and "Kubernetes" not in text


@case("hears the names of a vocabulary while they are spoken, and misses them without it")
def realtime():
    plain = spoken()
    expect(is_missed(plain), plain)
    heard = spoken(vocabulary_id=vocabulary("paraformer-realtime-v2"))
    expect(heard == SAID, heard)


@case("hears the names of a vocabulary in files, and misses them without it")
def files():
    plain = filed()
    expect(is_missed(plain), plain)
    heard = filed(vocabulary_id=vocabulary("paraformer-v2"))
    expect(heard == SAID, heard)


@case("hears a language that it was not told of, by the openai client")
def compatible():
    client = OpenAI(base_url=base_url(), api_key=key())
    with open(SPEECH / "morning.wav", "rb") as file:
        told = client.audio.transcriptions.create(
            file=file, model="svc-asr", response_format="verbose_json", timestamp_granularities=["word", "segment"]
        )
    expect(told.language == "german" and told.text.startswith("Guten Morgen, wie geht es Ihnen"), told)
    expect([word.word for word in told.words][:2] == ["Guten", "Morgen"], told.words)
    expect(0 <= told.segments[0].start < told.segments[-1].end <= told.duration, told.segments)


run()
