"""Recognition of files by the 1.x API of the dashscope client; started by transcription.test.ts.

Its Parley may fetch from this machine and runs the scripted recognizer, which maps sample levels to words: 0.22 is w22, a
level from 0.5 on ends the sentence.
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


def get_text(url):
    return read(url)["transcripts"][0]["text"]


@case("recognizes files, and fails only those that cannot be read")
def files():
    urls = [f"{SITE}/a.wav", f"{SITE}/none.wav", f"{SITE}/broken.wav"]
    started = Transcription.async_call(model=MODEL, file_urls=urls)
    expect(started.status_code == 200 and started.output.task_status == "PENDING", started)
    finished = Transcription.wait(task=started.output.task_id)
    expect((finished.status_code, finished.output.task_status) == (200, "SUCCEEDED"), finished)
    recognized, missing, broken = finished.output.results
    expect(recognized["subtask_status"] == "SUCCEEDED" and recognized["file_url"] == urls[0], recognized)
    expect(get_text(recognized["transcription_url"]) == "w20 w60. w21", recognized)
    expect((missing["subtask_status"], missing["code"]) == ("FAILED", "InvalidFile.DownloadFailed"), missing)
    expect((broken["subtask_status"], broken["code"]) == ("FAILED", "DECODE_ERROR"), broken)
    expect(finished.output.task_metrics == {"TOTAL": 3, "SUCCEEDED": 1, "FAILED": 2}, finished)
    expect(finished.usage.duration == 4, finished.usage)
    for name in ("submit_time", "scheduled_time", "end_time"):
        expect(len(finished.output[name]) == len("2024-09-12 15:11:40.041"), finished)


@case("gets the times of sentences and words")
def times():
    finished = Transcription.call(model=MODEL, file_urls=[f"{SITE}/a.wav"])
    transcript = read(finished.output.results[0]["transcription_url"])
    properties = transcript["properties"]
    expect(properties["original_sampling_rate"] == RATE and properties["original_duration_in_milliseconds"] == 4000, properties)
    first, second = transcript["transcripts"][0]["sentences"]
    expect((first["begin_time"], first["end_time"], first["sentence_id"], first["text"]) == (500, 1800, 1, "w20 w60."), first)
    expect((second["begin_time"], second["end_time"], second["sentence_id"], second["text"]) == (3300, 4000, 2, "w21"), second)
    expect([word["text"] + word["punctuation"] for word in first["words"]] == ["w20 ", "w60. "], first)


@case("accepts a vocabulary, and is refused with an unknown one")
def vocabulary():
    words = importlib.import_module("dashscope.audio.asr.vocabulary").VocabularyService()
    listed = words.create_vocabulary(target_model=MODEL, prefix="t", vocabulary=[{"text": "Qwen", "weight": 4}])
    finished = Transcription.call(model=MODEL, file_urls=[f"{SITE}/a.wav"], vocabulary_id=listed)
    expect(finished.output.task_status == "SUCCEEDED", finished)
    words.delete_vocabulary(listed)
    refused = Transcription.async_call(model=MODEL, file_urls=[f"{SITE}/a.wav"], vocabulary_id=listed)
    expect((refused.status_code, refused.code) == (400, "BadRequest.ResourceNotExist"), refused)


@case("may send channels, a word filter and ignored parameters")
def parameters():
    hidden = json.dumps({"filter_with_signed": {"word_list": ["w60"]}, "filter_with_empty": {"word_list": ["w20"]}})
    finished = Transcription.call(
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
    expect(get_text(finished.output.results[0]["transcription_url"]) == "***. w21", finished)


@case("fails with a reason when no file can be read")
def nothing():
    finished = Transcription.call(model=MODEL, file_urls=[f"{SITE}/none.wav"])
    expect((finished.output.task_status, finished.output.code) == ("FAILED", "InvalidFile.DownloadFailed"), finished)


@case("is refused with a file URL, and with an unknown model")
def refusals():
    refused = Transcription.async_call(model=MODEL, file_urls=["file:///etc/passwd"])
    expect((refused.status_code, refused.code) == (400, "InvalidParameter"), refused)
    expect("file_urls[0]" in refused.message, refused)
    refused = Transcription.async_call(model="no-such-model", file_urls=[f"{SITE}/a.wav"])
    expect((refused.status_code, refused.code) == (404, "ModelNotFound"), refused)


@case("gets status UNKNOWN for an unknown task")
def unknown():
    found = Transcription.fetch(task="0f0f0f0f-0000-4000-8000-000000000000")
    expect((found.status_code, found.output.task_status) == (200, "UNKNOWN"), found)


run()
