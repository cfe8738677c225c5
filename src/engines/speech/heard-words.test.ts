import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { letterTokens } from './__fixtures__/letter-tokens.ts';
import { createBytePairs } from './byte-pairs.ts';
import { heardWords } from './heard-words.ts';
import { FRAMES } from './whisper-model.ts';

const { encode, decode } = createBytePairs(letterTokens(['o n', 't w', 'tw o', 'Ġ on', 'Ġ two', 'Ġon e']));

const looking = (from: number, to: number): Float32Array =>
  Float32Array.from({ length: FRAMES }, (_, i) => (i >= from && i < to ? 0.1 : 0.001));

/** Loud from frame to frame, else still. */
const samples = (frames: number, ...loud: readonly (readonly [number, number])[]): Float32Array =>
  Float32Array.from({ length: frames * 320 }, (_, i) =>
    loud.some(([from, to]) => i >= from * 320 && i < to * 320) ? 0.3 * Math.sin(i / 3) : 0.0001,
  );

describe('the words that were heard', () => {
  const tokens = encode(' one two.');

  it('begin and end where something is heard of them', () => {
    assert.equal(tokens.length, 3);
    const attention = [looking(0, 30), looking(30, 80), looking(80, 85), looking(85, 100)];
    const words = heardWords({ tokens, attention }, { decode }, samples(100, [5, 25], [40, 70]));
    assert.deepEqual(words, [
      { text: 'one ', punctuation: '', beginMs: 100, endMs: 500 },
      { text: 'two', punctuation: '.', beginMs: 800, endMs: 1_400 },
    ]);
  });

  it('do not last to the end of the audio where noise does', () => {
    const attention = [looking(0, 30), looking(30, 60), looking(60, 65), looking(65, 70)];
    const [first, last] = heardWords({ tokens, attention }, { decode }, samples(1_000, [0, 1_000]));
    assert.equal(first?.endMs, 600);
    assert.ok((last?.endMs ?? Infinity) <= 2_000, String(last?.endMs));
  });

  it('have an end also where the reading broke off before its last step', () => {
    const words = heardWords(
      { tokens, attention: [looking(0, 30), looking(30, 60), looking(60, 100)] },
      { decode },
      samples(100, [0, 100]),
    );
    for (const { beginMs, endMs } of words) assert.ok(beginMs >= 0 && beginMs <= endMs && endMs <= 2_000);
  });
});
