import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scaleInputSize } from '../../../test/property-runs.ts';
import { createLogMelTransform, MEL_BANDS, MEL_FRAMES } from './log-mel-transform.ts';

/** A quarter of a second: a constant tone, and one of rising frequency. */
const SIGNAL = Float32Array.from(
  { length: 4_000 },
  (_, i) =>
    0.5 * Math.sin((2 * Math.PI * 440 * i) / 16_000) +
    0.25 * Math.sin(((2 * Math.PI * 3_000 * i) / 16_000) * (1 + i / 8_000)),
);

describe('LogMelTransform', () => {
  it('matches values of an independent implementation', () => {
    const mel = createLogMelTransform()(SIGNAL);
    assert.equal(mel.length, MEL_BANDS * MEL_FRAMES);
    for (const [band, frame, expected] of [
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
      assert.ok(Math.abs(value - expected) < 1e-4, `band ${band} frame ${frame}: ${value}, not ${expected}`);
    }
  });

  it('keeps no state between calls', () => {
    const logMel = createLogMelTransform();
    const first = logMel(SIGNAL);
    logMel(new Float32Array(scaleInputSize(480_000)).fill(0.5));
    assert.deepEqual(logMel(SIGNAL), first);
  });

  it('returns the minimum everywhere for silence', () => {
    assert.ok(createLogMelTransform()(new Float32Array(100)).every((value) => value === -1.5));
  });
});
