import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VOICE_FRAME_SAMPLES as FRAME } from '../engines/speech-engine.ts';
import { createVoiceStretches } from './voice-stretches.ts';
import type { Stretch } from './voice-stretches.ts';

const RULES = { pause: 4 * FRAME, longest: 40 * FRAME, margin: 2 * FRAME, shortest: 2 * FRAME };

const frames = (...parts: readonly (readonly [count: number, probability: number])[]): number[] =>
  parts.flatMap(([count, probability]) => Array.from({ length: count }, () => probability));

function stretchesOf(probabilities: readonly number[], rules = RULES): readonly Stretch[] {
  const stretches = createVoiceStretches(rules);
  return [...stretches.push(probabilities), ...stretches.finish()];
}

const inFrames = (stretches: readonly Stretch[]): number[][] =>
  stretches.map(({ begin, end }) => [begin / FRAME, end / FRAME]);

test('a stretch has a margin of silence on both sides, and ends with a pause', () => {
  assert.deepEqual(inFrames(stretchesOf(frames([10, 0], [5, 1], [3, 0], [5, 1], [10, 0]))), [[8, 25]]);
  assert.deepEqual(inFrames(stretchesOf(frames([10, 0], [5, 1], [6, 0], [5, 1], [10, 0]))), [
    [8, 17],
    [19, 28],
  ]);
});

test('a voice that becomes faint goes on, one that begins faint does not begin', () => {
  assert.deepEqual(inFrames(stretchesOf(frames([5, 1], [20, 0.4], [10, 0]))), [[0, 27]]);
  assert.deepEqual(stretchesOf(frames([20, 0.4])), []);
});

test('a short noise is nobody speaking', () => {
  assert.deepEqual(stretchesOf(frames([10, 0], [1, 1], [10, 0])), []);
});

test('an audio may begin and end with speech', () => {
  assert.deepEqual(inFrames(stretchesOf(frames([6, 1]))), [[0, 6]]);
});

test('who speaks on is cut where the voice is faintest, and nothing is lost', () => {
  const cut = inFrames(stretchesOf(frames([32, 1], [1, 0.4], [20, 1])));
  assert.deepEqual(cut, [
    [0, 32],
    [32, 53],
  ]);
});

test('whatever the voice: no sample is in two, none is too long, and pieces of any size give the same', () => {
  let seed = 7;
  const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  for (let round = 0; round < 200; round += 1) {
    const bias = random();
    const probabilities = Array.from({ length: 300 }, () => (random() < bias ? random() : random() / 3));
    const whole = stretchesOf(probabilities);
    const pieces = createVoiceStretches(RULES);
    const pieced: Stretch[] = [];
    for (let at = 0; at < probabilities.length;) {
      const size = 1 + Math.floor(random() * 20);
      pieced.push(...pieces.push(probabilities.slice(at, at + size)));
      assert.ok(pieces.settled >= (pieced.at(-1)?.end ?? 0), 'what is over is let go');
      at += size;
    }
    pieced.push(...pieces.finish());
    assert.deepEqual(pieced, whole);
    for (const [index, { begin, end }] of whole.entries()) {
      assert.ok(begin < end && end - begin <= RULES.longest + RULES.margin, `${begin} to ${end}`);
      assert.ok(begin >= (whole[index - 1]?.end ?? 0));
    }
    const isHeard = (frame: number): boolean =>
      whole.some(({ begin, end }) => begin <= frame * FRAME && end >= (frame + 1) * FRAME);
    for (let at = 0; at + 2 < probabilities.length; at += 1) {
      const isVoice = probabilities.slice(at, at + 3).every((each) => each >= 0.5);
      assert.ok(!isVoice || (isHeard(at) && isHeard(at + 1) && isHeard(at + 2)), `voice at ${at} is heard`);
    }
  }
});
