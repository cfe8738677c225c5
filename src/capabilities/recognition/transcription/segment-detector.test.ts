import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VOICE_FRAME_SAMPLES as FRAME } from '../../../engines/speech-engine.ts';
import { createSegmentDetector } from './segment-detector.ts';
import type { SpeechSegment } from './segment-detector.ts';

const OPTIONS = {
  pauseSamples: 4 * FRAME,
  samplesMax: 40 * FRAME,
  marginSamples: 2 * FRAME,
  voiceSamplesMin: 2 * FRAME,
};

const createFrames = (...parts: readonly (readonly [count: number, probability: number])[]): number[] =>
  parts.flatMap(([count, probability]) => Array.from({ length: count }, () => probability));

function detectSegments(probabilities: readonly number[], rules = OPTIONS): readonly SpeechSegment[] {
  const stretches = createSegmentDetector(rules);
  return [...stretches.push(probabilities), ...stretches.finish()];
}

const toFrames = (stretches: readonly SpeechSegment[]): number[][] =>
  stretches.map(({ start, end }) => [start / FRAME, end / FRAME]);

test('keeps a margin of silence around a segment, and ends it at a pause', () => {
  assert.deepEqual(toFrames(detectSegments(createFrames([10, 0], [5, 1], [3, 0], [5, 1], [10, 0]))), [[8, 25]]);
  assert.deepEqual(toFrames(detectSegments(createFrames([10, 0], [5, 1], [6, 0], [5, 1], [10, 0]))), [
    [8, 17],
    [19, 28],
  ]);
});

test('applies a lower probability to continuing voice than to starting voice', () => {
  assert.deepEqual(toFrames(detectSegments(createFrames([5, 1], [20, 0.4], [10, 0]))), [[0, 27]]);
  assert.deepEqual(detectSegments(createFrames([20, 0.4])), []);
});

test('ignores short noise', () => {
  assert.deepEqual(detectSegments(createFrames([10, 0], [1, 1], [10, 0])), []);
});

test('accepts speech at the start and the end of the audio', () => {
  assert.deepEqual(toFrames(detectSegments(createFrames([6, 1]))), [[0, 6]]);
});

test('cuts long speech at its faintest frame without loss', () => {
  const cut = toFrames(detectSegments(createFrames([32, 1], [1, 0.4], [20, 1])));
  assert.deepEqual(cut, [
    [0, 32],
    [32, 53],
  ]);
});

test('returns disjoint segments of limited length, independent of the block sizes', () => {
  let seed = 7;
  const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  for (let round = 0; round < 200; round += 1) {
    const bias = random();
    const probabilities = Array.from({ length: 300 }, () => (random() < bias ? random() : random() / 3));
    const whole = detectSegments(probabilities);
    const pieces = createSegmentDetector(OPTIONS);
    const pieced: SpeechSegment[] = [];
    for (let at = 0; at < probabilities.length;) {
      const size = 1 + Math.floor(random() * 20);
      pieced.push(...pieces.push(probabilities.slice(at, at + size)));
      assert.ok(pieces.settledSamples >= (pieced.at(-1)?.end ?? 0), 'settled samples precede no reported segment');
      at += size;
    }
    pieced.push(...pieces.finish());
    assert.deepEqual(pieced, whole);
    for (const [index, { start, end }] of whole.entries()) {
      assert.ok(start < end && end - start <= OPTIONS.samplesMax + OPTIONS.marginSamples, `${start} to ${end}`);
      assert.ok(start >= (whole[index - 1]?.end ?? 0));
    }
    const isVoiced = (frame: number): boolean =>
      whole.some(({ start, end }) => start <= frame * FRAME && end >= (frame + 1) * FRAME);
    for (let at = 0; at + 2 < probabilities.length; at += 1) {
      const isVoice = probabilities.slice(at, at + 3).every((each) => each >= 0.5);
      assert.ok(!isVoice || (isVoiced(at) && isVoiced(at + 1) && isVoiced(at + 2)), `voice at ${at} is in a segment`);
    }
  }
});
