"""Realtime recognition of the 1.x API of the dashscope client; started by recognition-python.test.ts.

Its Parley runs the scripted recognizer, which maps sample levels to words: 0.22 is w22, a level from 0.5 on ends the sentence.
"""

import json
import os
import struct
import tempfile
import threading

import dashscope
from cases import case, expect, key, origin, run
from dashscope.audio.asr import Recognition, RecognitionCallback

RATE = 16000
MODEL = "paraformer-realtime-v2"

dashscope.base_websocket_api_url = origin().replace("http", "ws") + "/api-ws/v1/inference"
dashscope.api_key = key()

SPOKEN = [(500, 0), (1000, 20), (300, 60), (1500, 0), (700, 21), (1500, 0), (600, 41)]
EXPECTED_TEXTS = ["w20 w60.", "w21", "W41"]
FRAME_BYTES = 3200


def samples(parts):
    return b"".join(struct.pack("<h", round(level / 100 * 32767)) * (ms * RATE // 1000) for ms, level in parts)


def wav(data):
    form = struct.pack("<HHIIHH", 1, 1, RATE, RATE * 2, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data


class RecordingCallback(RecognitionCallback):
    def __init__(self):
        self.calls = []
        self.sentences = []
        self.usages = []
        self.error = None
        self.closed = threading.Event()

    def on_open(self):
        self.calls.append("open")

    def on_complete(self):
        self.calls.append("complete")

    def on_error(self, result):
        self.calls.append("error")
        self.error = result

    def on_close(self):
        self.calls.append("close")
        self.closed.set()

    def on_event(self, result):
        sentence = result.get_sentence()
        self.sentences.append(sentence)
        if result.is_sentence_end(sentence):
            self.usages.append(result.get_usage(sentence))

    def finals(self):
        return [sentence["text"] for sentence in self.sentences if sentence["sentence_end"]]


def create_recognition(callback=None, **more):
    return Recognition(**{"model": MODEL, "format": "pcm", "sample_rate": RATE, "callback": callback, **more})


def stream(callback, data, frame_bytes=FRAME_BYTES, **more):
    recognition = create_recognition(callback, **more)
    recognition.start()
    for at in range(0, len(data), frame_bytes):
        recognition.send_audio_frame(data[at : at + frame_bytes])
    recognition.stop()
    expect(callback.closed.wait(30), callback.calls)


def recognize(**more):
    with tempfile.NamedTemporaryFile(suffix=".pcm") as file:
        file.write(samples(SPOKEN))
        file.flush()
        return create_recognition(**more).call(file.name)


@case("recognizes a file")
def whole_file(folder):
    for name, form, data in (("a.wav", "wav", wav(samples(SPOKEN))), ("a.pcm", "pcm", samples(SPOKEN))):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        result = create_recognition(format=form).call(path)
        expect(result.status_code == 200, result.code, result.message)
        sentences = result.get_sentence()
        expect([sentence["text"] for sentence in sentences] == EXPECTED_TEXTS, sentences)
        expect([result.get_usage(sentence) for sentence in sentences] == [{"duration": each} for each in (2, 4, 7)])
        words = sentences[0]["words"]
        expect([(word["begin_time"], word["end_time"]) for word in words] == [(500, 1500), (1500, 1800)], words)


@case("recognizes while it sends, with partial results before each whole sentence")
def live(_):
    callback = RecordingCallback()
    stream(callback, samples(SPOKEN))
    expect(callback.finals() == EXPECTED_TEXTS, callback.sentences)
    expect(callback.usages == [{"duration": each} for each in (2, 4, 7)], callback.usages)
    expect(callback.calls == ["open", "complete", "close"], callback.calls)
    for sentence in callback.sentences:
        expect((sentence["end_time"] is None) == (not sentence["sentence_end"]), sentence)


@case("recognizes the same text with every frame size")
def cuts(_):
    for frame_bytes in (640, 12800, 99999):
        callback = RecordingCallback()
        stream(callback, wav(samples(SPOKEN)), frame_bytes, format="wav")
        expect(callback.finals() == EXPECTED_TEXTS, frame_bytes, callback.sentences)


@case("may use one object twice")
def twice(folder):
    path = os.path.join(folder, "twice.pcm")
    with open(path, "wb") as file:
        file.write(samples(SPOKEN))
    recognition = create_recognition()
    for _ in range(2):
        expect([each["text"] for each in recognition.call(path).get_sentence()] == EXPECTED_TEXTS)


@case("may send ignored parameters and a vocabulary")
def parameters(_):
    callback = RecordingCallback()
    stream(
        callback,
        samples([(500, 30), (500, 60), (500, 42), (1500, 0)]),
        diarization_enabled=True,
        speaker_count=2,
        unknown_parameter=True,
        vocabulary={"Parley": 5},
        language_hints=["en"],
        semantic_punctuation_enabled=True,
        special_word_filter=json.dumps({"filter_with_signed": {"word_list": ["W42"]}}),
    )
    expect(callback.finals() == ["Parley w60.", "***"], callback.sentences)


@case("recognizes nothing in silence")
def silence(_):
    callback = RecordingCallback()
    stream(callback, samples([(3000, 0)]))
    expect(callback.sentences == [] and callback.calls == ["open", "complete", "close"], callback.calls)


@case("with an unknown model gets ModelNotFound")
def unknown_model(_):
    result = recognize(model="no-such-model")
    expect((result.status_code, result.code) == (44, "ModelNotFound"), result.status_code, result.code)
    expect("no-such-model" in result.message and result.request_id, result.message)


@case("with a bad parameter gets InvalidParameter, which names it")
def bad_parameter(_):
    for name, value in (("sample_rate", 4000), ("max_sentence_silence", 100), ("vocabulary", {"x": 9})):
        result = recognize(**{name: value})
        expect((result.code, name in result.message) == ("InvalidParameter", True), result.code, result.message)


@case("gets a failure through its callback, too")
def failure_by_callback(_):
    callback = RecordingCallback()
    recognition = create_recognition(callback, model="no-such-model")
    recognition.start()
    expect(callback.closed.wait(30), callback.calls)
    expect(callback.calls == ["open", "error", "close"], callback.calls)
    expect(callback.error.code == "ModelNotFound", callback.error.code)


@case("with a wrong key is refused at the handshake")
def wrong_key(_):
    dashscope.api_key = "sk-wrong"
    try:
        result = recognize()
    finally:
        dashscope.api_key = key()
    expect((result.status_code, result.message) == (401, "Unauthorized, your api-key is invalid!"), result.message)


@case("may name its own workspace and no other")
def workspace(_):
    expect(recognize(workspace="primary").status_code == 200)
    expect(recognize(workspace="another").status_code == 403)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run(folder)
    # After a failed recognition, a timer of the client keeps the process alive for 23 seconds.
    os._exit(0)
