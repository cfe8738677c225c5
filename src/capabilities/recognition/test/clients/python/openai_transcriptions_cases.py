"""Transcriptions of the openai client; started by openai-transcriptions.test.ts.

Its Parley runs the scripted recognizer, which maps sample levels to words: 0.22 is w22, a level from 0.5 on ends the sentence.
"""

import struct

import openai
from cases import base_url, case, expect, expect_error, key, run

MODEL = "svc-asr"
RATE = 16000


def wav(parts):
    data = b"".join(struct.pack("<h", round(level / 100 * 32767)) * (ms * RATE // 1000) for ms, level in parts)
    form = struct.pack("<HHIIHH", 1, 1, RATE, RATE * 2, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data


SPOKEN = ("spoken.wav", wav([(500, 0), (1000, 20), (300, 60), (1500, 0), (700, 21)]))
client = openai.OpenAI(base_url=base_url(), api_key=key(), max_retries=0)


def transcribe(**change):
    return client.audio.transcriptions.create(**{"model": MODEL, "file": SPOKEN, **change})


@case("are returned as text")
def text():
    expect(transcribe().text == "w20 w60. w21")
    expect(transcribe(response_format="text").strip() == "w20 w60. w21")


@case("are returned with language, words and segments")
def verbose():
    transcription = transcribe(response_format="verbose_json", timestamp_granularities=["word", "segment"], language="en")
    expect((transcription.language, float(transcription.duration), transcription.text) == ("english", 4.0, "w20 w60. w21"), transcription)
    expect([(word.word, word.start, word.end) for word in transcription.words] == [("w20", 0.5, 1.5), ("w60", 1.5, 1.8), ("w21", 3.3, 4.0)], transcription)
    expect([(part.id, part.start, part.end, part.text) for part in transcription.segments] == [(0, 0.5, 1.8, "w20 w60."), (1, 3.3, 4.0, "w21")], transcription)


@case("are returned as subtitles")
def subtitles():
    expect(transcribe(response_format="srt").startswith("1\n00:00:00,500 --> 00:00:01,800\nw20 w60.\n\n2\n"))
    expect(transcribe(response_format="vtt").startswith("WEBVTT\n\n00:00:00.500 --> 00:00:01.800\n"))


@case("are streamed, with the whole text at the end")
def stream():
    events = list(transcribe(stream=True))
    expect([event.type for event in events] == ["transcript.text.delta", "transcript.text.delta", "transcript.text.done"], events)
    expect("".join(event.delta for event in events[:-1]) == events[-1].text == "w20 w60. w21", events)


@case("are translated to English")
def translations():
    expect(client.audio.translations.create(model=MODEL, file=SPOKEN).text == "t20 t60. t21")
    verbose = client.audio.translations.create(model=MODEL, file=SPOKEN, response_format="verbose_json")
    expect((verbose.language, [part.text for part in verbose.segments]) == ("english", ["t20 t60.", "t21"]), verbose)
    expect(client.audio.translations.create(model=MODEL, file=SPOKEN, response_format="srt").startswith("1\n00:00:00,500 --> 00:00:01,800\nt20 t60.\n"))


@case("are refused with an error class and the field")
def refusals():
    error = expect_error(openai.BadRequestError, lambda: transcribe(file=("a.wav", b"no audio")))
    expect(error.param == "file", error.body)
    expect_error(openai.NotFoundError, lambda: transcribe(model="no-such-model"))


run()
