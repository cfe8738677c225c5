import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeTranscription } from './encode.ts';
import type { Heard, HeardSentence } from './encode.ts';
import type { ResponseFormat } from './schema.ts';

const sentence = (text: string, beginMs: number, language = 'en'): HeardSentence => ({
  text,
  language,
  beginMs,
  endMs: beginMs + 1_500,
  words: [{ text: `${text.slice(0, -1)} `, punctuation: text.slice(-1), beginMs, endMs: beginMs + 1_500 }],
  logProbability: -0.25,
  noSpeech: 0.125,
});
const HEARD: Heard = {
  sentences: [sentence('Hello.', 40), sentence('A < B & C --> D.', 3_723_004)],
  facts: { durationMs: 3_726_100 },
  granularities: [],
};

const said = (format: ResponseFormat, heard: Heard = HEARD): string => {
  const encoded = encodeTranscription(format, heard);
  return 'json' in encoded ? JSON.stringify(encoded.json) : encoded.text.text;
};

describe('a transcription on the compatible interface', () => {
  it('is its text', () => {
    assert.equal(said('json'), '{"text":"Hello. A < B & C --> D.","usage":{"type":"duration","seconds":3727}}');
    assert.equal(said('text'), 'Hello. A < B & C --> D.\n');
  });

  it('is its subtitles', () => {
    assert.equal(
      said('srt'),
      '1\n00:00:00,040 --> 00:00:01,540\nHello.\n\n2\n01:02:03,004 --> 01:02:04,504\nA < B & C --> D.\n\n',
    );
    assert.equal(
      said('vtt'),
      'WEBVTT\n\n00:00:00.040 --> 00:00:01.540\nHello.\n\n01:02:03.004 --> 01:02:04.504\nA &lt; B &amp; C --&gt; D.\n\n',
    );
  });

  it('is everything that is known of it', () => {
    const one = { ...HEARD, sentences: [sentence('Hello.', 40)] };
    const segments =
      '"segments":[{"id":0,"seek":4,"start":0.04,"end":1.54,"text":"Hello.","tokens":[],"temperature":0,"avg_logprob":-0.25,' +
      '"compression_ratio":0.75,"no_speech_prob":0.125}]';
    const words = '"words":[{"word":"Hello","start":0.04,"end":1.54}]';
    const head = '{"task":"transcribe","language":"english","duration":3726.1,"text":"Hello.",';
    const usage = ',"usage":{"type":"duration","seconds":3727}}';
    assert.equal(said('verbose_json', one), head + segments + usage);
    assert.equal(said('verbose_json', { ...one, granularities: ['segment'] }), head + segments + usage);
    assert.equal(said('verbose_json', { ...one, granularities: ['word'] }), head + words + usage);
    assert.equal(
      said('verbose_json', { ...one, granularities: ['word', 'segment'] }),
      `${head}${words},${segments}${usage}`,
    );
  });

  it('is empty in each of its forms where nobody spoke', () => {
    const none = { ...HEARD, sentences: [] };
    assert.equal(said('json', none), '{"text":"","usage":{"type":"duration","seconds":3727}}');
    assert.equal(said('text', none), '\n');
    assert.equal(said('srt', none), '');
    assert.equal(said('vtt', none), 'WEBVTT\n\n');
    assert.match(said('verbose_json', none), /"language":"","duration":3726.1,"text":"","segments":\[\]/);
  });

  it('has no blanks between sentences of a language that has none', () => {
    const heard = { ...HEARD, sentences: [sentence('你好。', 0, 'zh'), sentence('再见。', 2_000, 'zh')] };
    assert.match(said('json', heard), /"text":"你好。再见。"/);
  });
});
