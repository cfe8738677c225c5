"""Speech with dashscope.Client and AsyncClient of 2.x; started by speech-python-client.test.ts.

Its Parley may fetch from this machine and runs the scripted recognizer, which maps sample levels to words: 0.22 is w22, a
level from 0.5 on ends the sentence, and 0.3 is the first word of the vocabulary.
"""

import asyncio
import http.server
import json
import struct
import tempfile
import threading
import urllib.request

from cases import case, expect, expect_error, key, origin, run
from dashscope import AsyncClient, Client
from dashscope.v2.errors import DashScopeError
from dashscope.v2.transport.ws_connection import WsConnection

RATE = 16000
SPOKEN = [(500, 0), (1000, 30), (300, 60), (1500, 0), (700, 21)]
EXPECTED_TEXTS = ["Okonkwo w60.", "w21"]
SOCKET = origin().replace("http", "ws", 1) + "/api-ws/v1/inference"
OPTIONS = {"base_url": origin() + "/api/v1", "api_key": key(), "max_retries": 0, "timeout": 60}
client = Client(**OPTIONS)


def samples(parts):
    return b"".join(struct.pack("<h", round(level / 100 * 32767)) * (ms * RATE // 1000) for ms, level in parts)


def wav(data):
    form = struct.pack("<HHIIHH", 1, 1, RATE, RATE * 2, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/a.wav" else 404)
        self.end_headers()
        self.wfile.write(wav(samples(SPOKEN)) if self.path == "/a.wav" else b"")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
SITE = f"http://127.0.0.1:{server.server_port}"


def vocabulary(target_model):
    words = [{"text": "Okonkwo", "weight": 4, "lang": "en"}]
    return client.audio.vocabularies.create(target_model=target_model, prefix="team", vocabulary=words).vocabulary_id


def text_at(address):
    with urllib.request.urlopen(address) as answer:
        return json.load(answer)["transcripts"][0]["text"]


@case("creates, lists, gets, updates and deletes a vocabulary")
def vocabularies():
    service = client.audio.vocabularies
    made = vocabulary("paraformer-v2")
    expect(made.startswith("vocab-team-"), made)
    (entry,) = service.list(prefix="team").vocabularies
    expect((entry["vocabulary_id"], entry["status"]) == (made, "OK"), entry)
    expect(service.get(made).vocabulary == [{"lang": "en", "text": "Okonkwo", "weight": 4}], service.get(made))
    service.update(made, vocabulary=[{"text": "Adaeze", "weight": 2}])
    expect(service.get(made).vocabulary == [{"text": "Adaeze", "weight": 2}], service.get(made))
    service.delete(made)
    error = expect_error(DashScopeError, lambda: service.get(made))
    expect(error.code == "BadRequest.ResourceNotExist", error)


@case("recognizes files with its default model, and fails only the missing file")
def files():
    parameters = {"vocabulary_id": vocabulary("qwen-audio-3.1-asr-flash-filetrans")}
    job = client.audio.asr.transcribe([f"{SITE}/a.wav", f"{SITE}/none.wav"], parameters=parameters)
    recognized, missing = job.output["results"]
    expect(text_at(recognized["transcription_url"]) == " ".join(EXPECTED_TEXTS), recognized)
    expect((missing["subtask_status"], missing["code"]) == ("FAILED", "InvalidFile.DownloadFailed"), missing)


@case("recognizes files asynchronously")
def asynchronously():
    async def ask():
        async with AsyncClient(**OPTIONS) as other:
            return await other.audio.asr.transcribe([f"{SITE}/a.wav"], model="fun-asr")

    job = asyncio.run(ask())
    expect(text_at(job.output["results"][0]["transcription_url"]) == "w30 w60. w21", job)


@case("fails with a reason when no file can be read")
def failing():
    error = expect_error(DashScopeError, lambda: client.audio.asr.transcribe([f"{SITE}/none.wav"], model="fun-asr"))
    expect(error.code == "InvalidFile.DownloadFailed", error)


@case("recognizes streamed audio event by event, and counts its seconds")
def realtime():
    options = {"model": "fun-asr-realtime", "vocabulary_id": vocabulary("fun-asr-realtime"), "ws_url": SOCKET}
    with client.audio.asr.recognize(**options) as recognition:
        recognition.send_audio_frame(samples(SPOKEN))
        recognition.update_context({"context": [{"role": "user", "content": [{"type": "input_text", "text": "Names."}]}]})
        recognition.stop()
        results = list(recognition.results())
    finals = [result for result in results if result.is_sentence_end()]
    expect([result.get_sentence()["text"] for result in finals] == EXPECTED_TEXTS, results)
    expect(finals[-1].get_usage() == {"duration": 4} and recognition.usage == {"duration": 4}, finals)


@case("recognizes a local file, and runs two recognitions on one connection")
def file_and_connection():
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        file.write(wav(samples(SPOKEN)))
        file.flush()
        options = {"model": "paraformer-realtime-v2", "format": "wav", "ws_url": SOCKET}
        events = list(client.audio.asr.recognize_file(file.name, **options))
    expect(events[-1]["header"]["event"] == "task-finished", events[-1])
    connection = WsConnection(url=SOCKET, api_key=key(), timeout=60)
    for _ in range(2):
        with client.audio.asr.recognize(model="paraformer-realtime-v2", connection=connection) as recognition:
            recognition.send_audio_frame(samples(SPOKEN))
            recognition.stop()
            texts = [result.get_sentence()["text"] for result in recognition.results() if result.is_sentence_end()]
        expect(texts == ["w30 w60.", "w21"], texts)
    connection.close()


@case("gets ModelNotFound for an unknown model")
def unknown():
    def ask():
        with client.audio.asr.recognize(model="no-such-model", ws_url=SOCKET):
            pass

    error = expect_error(DashScopeError, ask)
    expect(error.code == "ModelNotFound" and "no-such-model" in str(error), error)


run()
