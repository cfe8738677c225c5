import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { ScoredSentence } from './encode.ts';
import { createTranscriptionStreamEncoder } from './stream.ts';
import type { RecognitionEvent } from './stream.ts';

const sentences = (language: string, ...texts: readonly string[]): RecognitionEvent => ({
  type: 'sentences',
  sentences: texts.map((text): ScoredSentence => {
    return { text, language, beginMs: 0, endMs: 1_000, words: [], logProbability: 0, noSpeech: 0 };
  }),
});
const END: RecognitionEvent = { type: 'end', audioMetadata: { durationMs: 1_500 } };

const encode = (...events: readonly RecognitionEvent[]) => {
  const encoder = createTranscriptionStreamEncoder('r');
  const text = encoder.push(events) + encoder.close();
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => JSON.parse(frame.replace(/^data: /, '')) as { type: string; delta?: string; text?: string });
};

describe('encoding a transcription stream', () => {
  it('ends with the text of all deltas and the usage', () => {
    const frames = encode(sentences('en', 'Hello.', 'Good'), sentences('en', 'morning.'), END);
    assert.deepEqual(frames, [
      { type: 'transcript.text.delta', delta: 'Hello.' },
      { type: 'transcript.text.delta', delta: ' Good' },
      { type: 'transcript.text.delta', delta: ' morning.' },
      { type: 'transcript.text.done', text: 'Hello. Good morning.', usage: { type: 'duration', seconds: 2 } },
    ]);
  });

  it('adds no spaces between sentences of a language without spaces', () => {
    assert.equal(encode(sentences('zh', '你好。', '再见。'), END).at(-1)?.text, '你好。再见。');
  });

  it('ends a recording without speech with an empty text', () => {
    assert.deepEqual(encode(END), [
      { type: 'transcript.text.done', text: '', usage: { type: 'duration', seconds: 2 } },
    ]);
  });

  it('reports a failure as an error, and does not end without the end event', () => {
    const encoder = createTranscriptionStreamEncoder('r');
    encoder.push([sentences('en', 'Hello.')]);
    assert.throws(() => encoder.close(), { kind: 'engine-failed' });
    const failure = encoder.fail(new ServiceError('engine-failed', 'The engine failed.'));
    assert.match(failure, /^data: \{"error":\{"message":"[^"]*The engine failed\.","type":"internal_error"/);
    assert.equal(encoder.keepAlive(), ':keep-alive\n\n');
  });
});
