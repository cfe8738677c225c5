"""Vocabularies and recognition with the dashscope client; started by speech-model-python.test.ts.

Its Parley runs real weights, and may fetch from this machine. In names.wav a synthesizer says "We deploy the Qwen model on
Kubernetes."
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

SPEECH = pathlib.Path(__file__).parents[6] / "test" / "model" / "__fixtures__" / "speech"
SENTENCE = "We deploy the Qwen model on Kubernetes."
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


def recognize_realtime(**options):
    recognition = Recognition(model="paraformer-realtime-v2", format="wav", sample_rate=16000, callback=None, **options)
    result = recognition.call(str(SPEECH / "names.wav"))
    expect(result.status_code == 200, result)
    return " ".join(sentence["text"] for sentence in result.get_sentence())


def recognize_file(**options):
    finished = Transcription.call(model="paraformer-v2", file_urls=[f"{SITE}/names.wav"], **options)
    expect(finished.output.task_status == "SUCCEEDED", finished)
    with urllib.request.urlopen(finished.output.results[0]["transcription_url"]) as answer:
        return json.load(answer)["transcripts"][0]["text"]


def misses_names(text):
    return "deploy" in text and "Qwen" not in text and "Kubernetes" not in text


@case("recognizes the names of a vocabulary in realtime, and misses them without it")
def realtime():
    plain = recognize_realtime()
    expect(misses_names(plain), plain)
    recognized = recognize_realtime(vocabulary_id=vocabulary("paraformer-realtime-v2"))
    expect(recognized == SENTENCE, recognized)


@case("recognizes the names of a vocabulary in files, and misses them without it")
def files():
    # Beam search finds one of the two names without a vocabulary.
    plain = recognize_file()
    expect("Qwen" not in plain, plain)
    recognized = recognize_file(vocabulary_id=vocabulary("paraformer-v2"))
    expect(recognized == SENTENCE, recognized)


@case("detects the language with the openai client")
def compatible():
    client = OpenAI(base_url=base_url(), api_key=key())
    with open(SPEECH / "morning.wav", "rb") as file:
        transcript = client.audio.transcriptions.create(
            file=file, model="svc-asr", response_format="verbose_json", timestamp_granularities=["word", "segment"]
        )
    expect(transcript.language == "german" and transcript.text.startswith("Guten Morgen, wie geht es Ihnen"), transcript)
    expect([word.word for word in transcript.words][:2] == ["Guten", "Morgen"], transcript.words)
    expect(0 <= transcript.segments[0].start < transcript.segments[-1].end <= transcript.duration, transcript.segments)


run()
