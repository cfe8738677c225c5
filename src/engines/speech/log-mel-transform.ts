import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import { createFourierTransform } from './fourier-transform.ts';

/** Spectrogram that Whisper was trained on: windows of 25 ms every 10 ms, 80 mel bands, always 30 s. */
export const MEL_BANDS = 80;
export const MEL_FRAMES = 3_000;
const HOP_SAMPLES = 160;
const WINDOW_SAMPLES = 400;
/** Number of samples that one spectrogram covers. */
export const MEL_SAMPLES_MAX = MEL_FRAMES * HOP_SAMPLES;

const BINS = WINDOW_SAMPLES / 2 + 1;
/** Lower limit of the energy before the logarithm. */
const ENERGY_MIN = 1e-10;
/** Range below the loudest value, in powers of ten; quieter values are raised to its lower end. */
const LOG_RANGE = 8;

/**
 * Computes the log-mel spectrogram: `MEL_BANDS` rows of `MEL_FRAMES` values, scaled for Whisper.
 * @param samples At most `MEL_SAMPLES_MAX`; the rest is padded with silence.
 */
export type LogMelTransform = (samples: Float32Array) => Float32Array;

export function createLogMelTransform(): LogMelTransform {
  const hannWindow = Float64Array.from(
    { length: WINDOW_SAMPLES },
    (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / WINDOW_SAMPLES),
  );
  const filters = createMelFilters();
  const transform = createFourierTransform();
  const real = new Float64Array(WINDOW_SAMPLES);
  const imaginary = new Float64Array(WINDOW_SAMPLES);
  const powers = [new Float64Array(BINS), new Float64Array(BINS)] as const;

  return (samples) => {
    const energies = new Float32Array(MEL_BANDS * MEL_FRAMES).fill(Math.log10(ENERGY_MIN));
    // The signal is mirrored at its start; silence follows its end.
    const getSample = (i: number): number => samples[i < 0 ? -i : i] ?? 0;
    const used = Math.min(MEL_FRAMES, Math.ceil((samples.length + WINDOW_SAMPLES / 2) / HOP_SAMPLES));
    let loudest = Math.log10(ENERGY_MIN);
    for (let frame = 0; frame < used; frame += 2) {
      // Transforms two windows of real numbers at once, as the real and the imaginary part.
      const from = frame * HOP_SAMPLES - WINDOW_SAMPLES / 2;
      for (let i = 0; i < WINDOW_SAMPLES; i++) {
        const windowValue = hannWindow[i] ?? 0;
        real[i] = getSample(from + i) * windowValue;
        imaginary[i] = getSample(from + HOP_SAMPLES + i) * windowValue;
      }
      splitPowers(transform(real, imaginary), powers);
      for (const [offset, power] of powers.entries()) {
        if (frame + offset >= used) break;
        for (const [band, filter] of filters.entries()) {
          const energy = Math.log10(Math.max(applyFilter(filter, power), ENERGY_MIN));
          energies[band * MEL_FRAMES + frame + offset] = energy;
          loudest = Math.max(loudest, energy);
        }
      }
    }
    return energies.map((energy) => (Math.max(energy, loudest - LOG_RANGE) + 4) / 4);
  };
}

/** Separates the power spectra of two real signals that were transformed as one complex signal, by its symmetries. */
function splitPowers(
  { real, imaginary }: { readonly real: Float64Array; readonly imaginary: Float64Array },
  [first, second]: readonly [Float64Array, Float64Array],
): void {
  for (let k = 0; k < BINS; k++) {
    const mirror = (WINDOW_SAMPLES - k) % WINDOW_SAMPLES;
    const a = real[k] ?? 0;
    const b = real[mirror] ?? 0;
    const c = imaginary[k] ?? 0;
    const d = imaginary[mirror] ?? 0;
    first[k] = ((a + b) ** 2 + (c - d) ** 2) / 4;
    second[k] = ((c + d) ** 2 + (b - a) ** 2) / 4;
  }
}

function applyFilter({ firstBin, weights }: MelFilter, power: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += (weights[i] ?? 0) * (power[firstBin + i] ?? 0);
  return sum;
}

interface MelFilter {
  /** First frequency bin with a weight above 0. */
  readonly firstBin: number;
  readonly weights: Float64Array;
}

/** Triangular filters of equal area, evenly spaced on Slaney's mel scale: linear up to 1 kHz, logarithmic above. */
function createMelFilters(): readonly MelFilter[] {
  const toMel = (hz: number): number =>
    hz < 1_000 ? (hz * 3) / 200 : 15 + (27 * Math.log(hz / 1_000)) / Math.log(6.4);
  const toHz = (mel: number): number =>
    mel < 15 ? (mel * 200) / 3 : 1_000 * Math.exp((Math.log(6.4) * (mel - 15)) / 27);
  const getEdgeHz = (i: number): number => toHz((toMel(SPEECH_SAMPLE_RATE / 2) * i) / (MEL_BANDS + 1));
  return Array.from({ length: MEL_BANDS }, (_, band) => {
    const [low, middle, high] = [getEdgeHz(band), getEdgeHz(band + 1), getEdgeHz(band + 2)];
    const all = Array.from({ length: BINS }, (_bin, i) => {
      const hz = (i * SPEECH_SAMPLE_RATE) / WINDOW_SAMPLES;
      return (Math.max(0, Math.min((hz - low) / (middle - low), (high - hz) / (high - middle))) * 2) / (high - low);
    });
    const firstBin = Math.max(
      0,
      all.findIndex((weight) => weight > 0),
    );
    return { firstBin, weights: Float64Array.from(all.slice(firstBin, all.findLastIndex((weight) => weight > 0) + 1)) };
  });
}
