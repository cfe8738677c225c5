import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeTranscription } from './encode.ts';
import type { UploadTranscript, ScoredSentence } from './encode.ts';
import type { ResponseFormat } from './schema.ts';

const sentence = (text: string, beginMs: number, language = 'en'): ScoredSentence => ({
  text,
  language,
  beginMs,
  endMs: beginMs + 1_500,
  words: [{ text: `${text.slice(0, -1)} `, punctuation: text.slice(-1), beginMs, endMs: beginMs + 1_500 }],
  logProbability: -0.25,
  noSpeech: 0.125,
});
const TRANSCRIPT: UploadTranscript = {
  sentences: [sentence('Hello.', 40), sentence('A < B & C --> D.', 3_723_004)],
  audioMetadata: { durationMs: 3_726_100 },
  task: 'transcribe',
  granularities: [],
};

const encodeText = (format: ResponseFormat, transcript: UploadTranscript = TRANSCRIPT): string => {
  const encoded = encodeTranscription(format, transcript);
  return 'json' in encoded ? JSON.stringify(encoded.json) : encoded.text.text;
};

describe('encoding a transcription', () => {
  it('encodes text and JSON', () => {
    assert.equal(encodeText('json'), '{"text":"Hello. A < B & C --> D.","usage":{"type":"duration","seconds":3727}}');
    assert.equal(encodeText('text'), 'Hello. A < B & C --> D.\n');
  });

  it('encodes subtitles', () => {
    assert.equal(
      encodeText('srt'),
      '1\n00:00:00,040 --> 00:00:01,540\nHello.\n\n2\n01:02:03,004 --> 01:02:04,504\nA < B & C --> D.\n\n',
    );
    assert.equal(
      encodeText('vtt'),
      'WEBVTT\n\n00:00:00.040 --> 00:00:01.540\nHello.\n\n01:02:03.004 --> 01:02:04.504\nA &lt; B &amp; C --&gt; D.\n\n',
    );
  });

  it('encodes verbose JSON with segments and words', () => {
    const one = { ...TRANSCRIPT, sentences: [sentence('Hello.', 40)] };
    const segments =
      '"segments":[{"id":0,"seek":4,"start":0.04,"end":1.54,"text":"Hello.","tokens":[],"temperature":0,"avg_logprob":-0.25,' +
      '"compression_ratio":0.75,"no_speech_prob":0.125}]';
    const words = '"words":[{"word":"Hello","start":0.04,"end":1.54}]';
    const head = '{"task":"transcribe","language":"english","duration":3726.1,"text":"Hello.",';
    const usage = ',"usage":{"type":"duration","seconds":3727}}';
    assert.equal(encodeText('verbose_json', one), head + segments + usage);
    assert.equal(encodeText('verbose_json', { ...one, granularities: ['segment'] }), head + segments + usage);
    assert.equal(encodeText('verbose_json', { ...one, granularities: ['word'] }), head + words + usage);
    assert.equal(
      encodeText('verbose_json', { ...one, granularities: ['word', 'segment'] }),
      `${head}${words},${segments}${usage}`,
    );
  });

  it('encodes a translation as English', () => {
    const none = encodeText('verbose_json', { ...TRANSCRIPT, task: 'translate', sentences: [] });
    assert.match(none, /^\{"task":"translate","language":"english","duration":3726.1,"text":"","segments":\[\]/);
  });

  it('encodes an empty transcription in every format', () => {
    const none = { ...TRANSCRIPT, sentences: [] };
    assert.equal(encodeText('json', none), '{"text":"","usage":{"type":"duration","seconds":3727}}');
    assert.equal(encodeText('text', none), '\n');
    assert.equal(encodeText('srt', none), '');
    assert.equal(encodeText('vtt', none), 'WEBVTT\n\n');
    assert.match(encodeText('verbose_json', none), /"language":"","duration":3726.1,"text":"","segments":\[\]/);
  });

  it('adds no spaces between sentences of a language without spaces', () => {
    const chinese = { ...TRANSCRIPT, sentences: [sentence('你好。', 0, 'zh'), sentence('再见。', 2_000, 'zh')] };
    assert.match(encodeText('json', chinese), /"text":"你好。再见。"/);
  });
});
