import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestTokenizerFile } from './__fixtures__/test-tokenizer-file.ts';
import { createBytePairTokenizer } from './byte-pair-tokenizer.ts';
import { computeWordTimes } from './compute-word-times.ts';
import { ENCODER_FRAMES } from './whisper-model.ts';

const { encode, decode } = createBytePairTokenizer(
  createTestTokenizerFile(['o n', 't w', 'tw o', 'Ġ on', 'Ġ two', 'Ġon e']),
);

const createAttention = (from: number, to: number): Float32Array =>
  Float32Array.from({ length: ENCODER_FRAMES }, (_, i) => (i >= from && i < to ? 0.1 : 0.001));

/** Audio that is loud in the given ranges of frames, and otherwise silent. */
const createSamples = (frames: number, ...loud: readonly (readonly [number, number])[]): Float32Array =>
  Float32Array.from({ length: frames * 320 }, (_, i) =>
    loud.some(([from, to]) => i >= from * 320 && i < to * 320) ? 0.3 * Math.sin(i / 3) : 0.0001,
  );

describe('computeWordTimes', () => {
  const tokens = encode(' one two.');

  it('limits words to their loud frames', () => {
    assert.equal(tokens.length, 3);
    const attention = [
      createAttention(0, 30),
      createAttention(30, 80),
      createAttention(80, 85),
      createAttention(85, 100),
    ];
    const words = computeWordTimes({ tokens, attention }, { decode }, createSamples(100, [5, 25], [40, 70]));
    assert.deepEqual(words, [
      { text: 'one ', punctuation: '', beginMs: 100, endMs: 500 },
      { text: 'two', punctuation: '.', beginMs: 800, endMs: 1_400 },
    ]);
  });

  it('does not extend the last word over noise at the end', () => {
    const attention = [
      createAttention(0, 30),
      createAttention(30, 60),
      createAttention(60, 65),
      createAttention(65, 70),
    ];
    const [first, last] = computeWordTimes({ tokens, attention }, { decode }, createSamples(1_000, [0, 1_000]));
    assert.equal(first?.endMs, 600);
    assert.ok((last?.endMs ?? Infinity) <= 2_000, String(last?.endMs));
  });

  it('returns end times if the attention of the last token is missing', () => {
    const words = computeWordTimes(
      { tokens, attention: [createAttention(0, 30), createAttention(30, 60), createAttention(60, 100)] },
      { decode },
      createSamples(100, [0, 100]),
    );
    for (const { beginMs, endMs } of words) assert.ok(beginMs >= 0 && beginMs <= endMs && endMs <= 2_000);
  });
});
