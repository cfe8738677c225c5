import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { scaleInputSize } from '../../../../test/property-runs.ts';
import { createResampler } from './resampler.ts';

/** A tone of a fifth of a second, a whole number of samples at every rate, has twenty periods of the lowest one. */
const TONES_PER_SECOND = 5;

const createTone = (hertz: number, rate: number, length: number): Float32Array =>
  Float32Array.from({ length }, (_, n) => Math.sin((2 * Math.PI * hertz * n) / rate));

function resample(samples: Float32Array, from: number, pieces = [samples.length]): Float32Array {
  const resampler = createResampler({ from, to: 16_000 });
  const all: Float32Array[] = [];
  for (let at = 0, piece = 0; at < samples.length; piece++) {
    const size = pieces[piece % pieces.length] ?? 1;
    all.push(resampler.push(samples.slice(at, at + size)));
    at += size;
  }
  all.push(resampler.end());
  const output = new Float32Array(all.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of all) {
    output.set(part, end);
    end += part.length;
  }
  return output;
}

/** Measures the loudness in dB of the middle part: silence affects the edges. */
function measureLoudness(samples: Float32Array): number {
  const middle = samples.subarray(samples.length / 4, (samples.length * 3) / 4);
  return 10 * Math.log10(middle.reduce((sum, sample) => sum + sample * sample, 0) / middle.length);
}

describe('Resampler', () => {
  for (const from of [8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 192_000]) {
    test(`preserves tones at ${from} Hz to 65 dB, without delay`, () => {
      for (const hertz of [100, 1_000, Math.min(from * 0.43, 7_000)]) {
        const found = resample(createTone(hertz, from, from / TONES_PER_SECOND), from);
        const difference = found.map((sample, n) => sample - Math.sin((2 * Math.PI * hertz * n) / 16_000));
        assert.equal(found.length, 16_000 / TONES_PER_SECOND);
        assert.ok(
          measureLoudness(found) - measureLoudness(difference) > 65,
          `${hertz} Hz: ${measureLoudness(found) - measureLoudness(difference)} dB`,
        );
      }
    });
  }

  for (const from of [22_050, 44_100, 48_000]) {
    test(`removes frequencies above 8 kHz at ${from} Hz`, () => {
      for (const hertz of [8_050, 9_000, from * 0.45]) {
        assert.ok(
          measureLoudness(resample(createTone(hertz, from, from / TONES_PER_SECOND), from)) < -70,
          `${hertz} Hz`,
        );
      }
    });
  }

  test('returns the same samples for pieces of any size', () => {
    const samples = createTone(700, 44_100, 10_000);
    const whole = resample(samples, 44_100);
    for (const pieces of [[1], [3, 1_000, 1, 17], [4_410]]) assert.deepEqual(resample(samples, 44_100, pieces), whole);
  });

  test('does not drift at a rate without common divisors', () => {
    const seconds = scaleInputSize(8);
    const found = resample(createTone(440, 44_101, 44_101 * seconds), 44_101);
    const start = seconds * 16_000 - 12_000;
    const late = found.subarray(start, start + 10_000);
    const difference = late.map((sample, n) => sample - Math.sin((2 * Math.PI * 440 * (n + start)) / 16_000));
    assert.ok(measureLoudness(late) - measureLoudness(difference) > 55);
  });
});
