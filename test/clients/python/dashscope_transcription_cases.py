"""Recognition of files by the 1.x surface of the dashscope client, started by transcription.test.ts.

The Parley that it talks to hears levels: while each sample is 0.22, the word is w22; from 0.5 on it ends its sentence. It may
fetch from this machine.
"""

import http.server
import importlib
import json
import struct
import threading
import urllib.request

import dashscope
from cases import case, expect, key, origin, run
from dashscope.audio.asr import Transcription

RATE = 16000
MODEL = "paraformer-v2"

dashscope.base_http_api_url = origin() + "/api/v1"
dashscope.api_key = key()

SPOKEN = [(500, 0), (1000, 20), (300, 60), (1500, 0), (700, 21)]


def wav(parts):
    data = b"".join(struct.pack("<h", round(level / 100 * 32767)) * (ms * RATE // 1000) for ms, level in parts)
    form = struct.pack("<HHIIHH", 1, 1, RATE, RATE * 2, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = {"/a.wav": wav(SPOKEN), "/broken.wav": b"no audio"}.get(self.path)
        self.send_response(200 if body else 404)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
SITE = f"http://127.0.0.1:{server.server_port}"


def read(url):
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)


def text_of(url):
    return read(url)["transcripts"][0]["text"]


@case("hears files, and fails alone what is none")
def files():
    urls = [f"{SITE}/a.wav", f"{SITE}/none.wav", f"{SITE}/broken.wav"]
    begun = Transcription.async_call(model=MODEL, file_urls=urls)
    expect(begun.status_code == 200 and begun.output.task_status == "PENDING", begun)
    ended = Transcription.wait(task=begun.output.task_id)
    expect((ended.status_code, ended.output.task_status) == (200, "SUCCEEDED"), ended)
    heard, missing, broken = ended.output.results
    expect(heard["subtask_status"] == "SUCCEEDED" and heard["file_url"] == urls[0], heard)
    expect(text_of(heard["transcription_url"]) == "w20 w60. w21", heard)
    expect((missing["subtask_status"], missing["code"]) == ("FAILED", "InvalidFile.DownloadFailed"), missing)
    expect((broken["subtask_status"], broken["code"]) == ("FAILED", "DECODE_ERROR"), broken)
    expect(ended.output.task_metrics == {"TOTAL": 3, "SUCCEEDED": 1, "FAILED": 2}, ended)
    expect(ended.usage.duration == 4, ended.usage)
    for name in ("submit_time", "scheduled_time", "end_time"):
        expect(len(ended.output[name]) == len("2024-09-12 15:11:40.041"), ended)


@case("finds the times of sentences and words")
def times():
    ended = Transcription.call(model=MODEL, file_urls=[f"{SITE}/a.wav"])
    told = read(ended.output.results[0]["transcription_url"])
    properties = told["properties"]
    expect(properties["original_sampling_rate"] == RATE and properties["original_duration_in_milliseconds"] == 4000, properties)
    first, second = told["transcripts"][0]["sentences"]
    expect((first["begin_time"], first["end_time"], first["sentence_id"], first["text"]) == (500, 1800, 1, "w20 w60."), first)
    expect((second["begin_time"], second["end_time"], second["sentence_id"], second["text"]) == (3300, 4000, 2, "w21"), second)
    expect([word["text"] + word["punctuation"] for word in first["words"]] == ["w20 ", "w60. "], first)


@case("hears a list of words, and is refused one that is not there")
def vocabulary():
    words = importlib.import_module("dashscope.audio.asr.vocabulary").VocabularyService()
    listed = words.create_vocabulary(target_model=MODEL, prefix="t", vocabulary=[{"text": "Qwen", "weight": 4}])
    ended = Transcription.call(model=MODEL, file_urls=[f"{SITE}/a.wav"], vocabulary_id=listed)
    expect(ended.output.task_status == "SUCCEEDED", ended)
    words.delete_vocabulary(listed)
    refused = Transcription.async_call(model=MODEL, file_urls=[f"{SITE}/a.wav"], vocabulary_id=listed)
    expect((refused.status_code, refused.code) == (400, "BadRequest.ResourceNotExist"), refused)


@case("may ask for channels, words that are not to be read, and what nobody here can do")
def parameters():
    hidden = json.dumps({"filter_with_signed": {"word_list": ["w60"]}, "filter_with_empty": {"word_list": ["w20"]}})
    ended = Transcription.call(
        model=MODEL,
        file_urls=[f"{SITE}/a.wav"],
        channel_id=[0],
        language_hints=["en"],
        special_word_filter=hidden,
        disfluency_removal_enabled=True,
        timestamp_alignment_enabled=True,
        diarization_enabled=True,
        speaker_count=2,
    )
    expect(text_of(ended.output.results[0]["transcription_url"]) == "***. w21", ended)


@case("has failed where nothing was heard, and says why")
def nothing():
    ended = Transcription.call(model=MODEL, file_urls=[f"{SITE}/none.wav"])
    expect((ended.output.task_status, ended.output.code) == ("FAILED", "InvalidFile.DownloadFailed"), ended)


@case("is refused a file of the machine, and an unknown model")
def refusals():
    refused = Transcription.async_call(model=MODEL, file_urls=["file:///etc/passwd"])
    expect((refused.status_code, refused.code) == (400, "InvalidParameter"), refused)
    expect("file_urls[0]" in refused.message, refused)
    refused = Transcription.async_call(model="nobody", file_urls=[f"{SITE}/a.wav"])
    expect((refused.status_code, refused.code) == (404, "ModelNotFound"), refused)


@case("asks about a task that nobody knows")
def unknown():
    found = Transcription.fetch(task="0f0f0f0f-0000-4000-8000-000000000000")
    expect((found.status_code, found.output.task_status) == (200, "UNKNOWN"), found)


run()
