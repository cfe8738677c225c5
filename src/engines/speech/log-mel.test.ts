import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLogMel, MEL_BANDS, MEL_FRAMES } from './log-mel.ts';

/** A tone and one that rises, a quarter of a second. */
const SIGNAL = Float32Array.from(
  { length: 4_000 },
  (_, i) =>
    0.5 * Math.sin((2 * Math.PI * 440 * i) / 16_000) +
    0.25 * Math.sin(((2 * Math.PI * 3_000 * i) / 16_000) * (1 + i / 8_000)),
);

describe('the log-mel spectrogram', () => {
  it('has the values that a plain transform, written elsewhere, gives', () => {
    const mel = createLogMel()(SIGNAL);
    assert.equal(mel.length, MEL_BANDS * MEL_FRAMES);
    for (const [band, frame, wanted] of [
      [0, 0, 0.996697],
      [5, 0, 1.058309],
      [10, 3, 1.348738],
      [11, 3, 1.438204],
      [10, 20, 1.348738],
      [40, 7, -0.561796],
      [60, 12, -0.561796],
      [70, 24, 0.037114],
      [79, 25, 0.359858],
      [30, 25, 0.413982],
      [10, 40, -0.561796],
    ] as const) {
      const value = mel[band * MEL_FRAMES + frame] ?? NaN;
      assert.ok(Math.abs(value - wanted) < 1e-4, `band ${band} frame ${frame}: ${value}, not ${wanted}`);
    }
  });

  it('keeps nothing of one audio for the next', () => {
    const logMel = createLogMel();
    const first = logMel(SIGNAL);
    logMel(new Float32Array(480_000).fill(0.5));
    assert.deepEqual(logMel(SIGNAL), first);
  });

  it('of silence is silence all over', () => {
    assert.ok(createLogMel()(new Float32Array(100)).every((value) => value === -1.5));
  });
});
