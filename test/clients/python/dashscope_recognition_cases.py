"""Realtime recognition of the 1.x surface of the dashscope client, started by recognition-python.test.ts.

The Parley that it talks to hears levels: while each sample is 0.22, the word is w22; from 0.5 on it ends its sentence.
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
HEARD = ["w20 w60.", "w21", "W41"]
FRAME_BYTES = 3200


def samples(parts):
    return b"".join(struct.pack("<h", round(level / 100 * 32767)) * (ms * RATE // 1000) for ms, level in parts)


def wav(data):
    form = struct.pack("<HHIIHH", 1, 1, RATE, RATE * 2, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data


class Heard(RecognitionCallback):
    def __init__(self):
        self.happened = []
        self.sentences = []
        self.usages = []
        self.error = None
        self.closed = threading.Event()

    def on_open(self):
        self.happened.append("open")

    def on_complete(self):
        self.happened.append("complete")

    def on_error(self, result):
        self.happened.append("error")
        self.error = result

    def on_close(self):
        self.happened.append("close")
        self.closed.set()

    def on_event(self, result):
        sentence = result.get_sentence()
        self.sentences.append(sentence)
        if result.is_sentence_end(sentence):
            self.usages.append(result.get_usage(sentence))

    def finals(self):
        return [sentence["text"] for sentence in self.sentences if sentence["sentence_end"]]


def recogniser(heard=None, **more):
    return Recognition(**{"model": MODEL, "format": "pcm", "sample_rate": RATE, "callback": heard, **more})


def stream(heard, data, frame_bytes=FRAME_BYTES, **more):
    recognition = recogniser(heard, **more)
    recognition.start()
    for at in range(0, len(data), frame_bytes):
        recognition.send_audio_frame(data[at : at + frame_bytes])
    recognition.stop()
    expect(heard.closed.wait(30), heard.happened)


def refused(**more):
    with tempfile.NamedTemporaryFile(suffix=".pcm") as file:
        file.write(samples(SPOKEN))
        file.flush()
        return recogniser(**more).call(file.name)


@case("hears a file")
def whole_file(folder):
    for name, form, data in (("a.wav", "wav", wav(samples(SPOKEN))), ("a.pcm", "pcm", samples(SPOKEN))):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        result = recogniser(format=form).call(path)
        expect(result.status_code == 200, result.code, result.message)
        sentences = result.get_sentence()
        expect([sentence["text"] for sentence in sentences] == HEARD, sentences)
        expect([result.get_usage(sentence) for sentence in sentences] == [{"duration": each} for each in (2, 4, 7)])
        words = sentences[0]["words"]
        expect([(word["begin_time"], word["end_time"]) for word in words] == [(500, 1500), (1500, 1800)], words)


@case("hears while it sends, first what there is so far and then the whole sentence")
def live(_):
    heard = Heard()
    stream(heard, samples(SPOKEN))
    expect(heard.finals() == HEARD, heard.sentences)
    expect(heard.usages == [{"duration": each} for each in (2, 4, 7)], heard.usages)
    expect(heard.happened == ["open", "complete", "close"], heard.happened)
    for sentence in heard.sentences:
        expect((sentence["end_time"] is None) == (not sentence["sentence_end"]), sentence)


@case("hears the same however the audio is cut")
def cuts(_):
    for frame_bytes in (640, 12800, 99999):
        heard = Heard()
        stream(heard, wav(samples(SPOKEN)), frame_bytes, format="wav")
        expect(heard.finals() == HEARD, frame_bytes, heard.sentences)


@case("may use one object twice")
def twice(folder):
    path = os.path.join(folder, "twice.pcm")
    with open(path, "wb") as file:
        file.write(samples(SPOKEN))
    recognition = recogniser()
    for _ in range(2):
        expect([each["text"] for each in recognition.call(path).get_sentence()] == HEARD)


@case("may ask for what is not done, and for words of its own")
def parameters(_):
    heard = Heard()
    stream(
        heard,
        samples([(500, 30), (500, 60), (500, 42), (1500, 0)]),
        diarization_enabled=True,
        speaker_count=2,
        nobody_knows_this=True,
        vocabulary={"Parley": 5},
        language_hints=["en"],
        semantic_punctuation_enabled=True,
        special_word_filter=json.dumps({"filter_with_signed": {"word_list": ["W42"]}}),
    )
    expect(heard.finals() == ["Parley w60.", "***"], heard.sentences)


@case("hears nothing where nobody speaks")
def silence(_):
    heard = Heard()
    stream(heard, samples([(3000, 0)]))
    expect(heard.sentences == [] and heard.happened == ["open", "complete", "close"], heard.happened)


@case("with an unknown model gets ModelNotFound")
def unknown_model(_):
    result = refused(model="nobody-knows-this")
    expect((result.status_code, result.code) == (44, "ModelNotFound"), result.status_code, result.code)
    expect("nobody-knows-this" in result.message and result.request_id, result.message)


@case("with a bad parameter gets InvalidParameter, which names it")
def bad_parameter(_):
    for name, value in (("sample_rate", 4000), ("max_sentence_silence", 100), ("vocabulary", {"x": 9})):
        result = refused(**{name: value})
        expect((result.code, name in result.message) == ("InvalidParameter", True), result.code, result.message)


@case("hears of a failure by its callback, too")
def failure_by_callback(_):
    heard = Heard()
    recognition = recogniser(heard, model="nobody-knows-this")
    recognition.start()
    expect(heard.closed.wait(30), heard.happened)
    expect(heard.happened == ["open", "error", "close"], heard.happened)
    expect(heard.error.code == "ModelNotFound", heard.error.code)


@case("with a wrong key is told so at the handshake")
def wrong_key(_):
    dashscope.api_key = "sk-wrong"
    try:
        result = refused()
    finally:
        dashscope.api_key = key()
    expect((result.status_code, result.message) == (401, "Unauthorized, your api-key is invalid!"), result.message)


@case("may name its own workspace and no other")
def workspace(_):
    expect(refused(workspace="primary").status_code == 200)
    expect(refused(workspace="another").status_code == 403)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run(folder)
    # A timer of the client's outlives a recognition that failed, by 23 seconds.
    os._exit(0)
