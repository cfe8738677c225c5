import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';
import { createFourier } from './fourier.ts';

/** The spectrogram whisper was trained on: windows of 25 ms every 10 ms, 80 bands, 30 s whatever the audio's length. */
export const MEL_BANDS = 80;
export const MEL_FRAMES = 3_000;
const HOP_SAMPLES = 160;
const WINDOW_SAMPLES = 400;
/** Samples that one spectrogram holds. */
export const MEL_SAMPLES_MAX = MEL_FRAMES * HOP_SAMPLES;

const BINS = WINDOW_SAMPLES / 2 + 1;
/** Energies below are taken for this. */
const ENERGY_MIN = 1e-10;
/** Powers of ten below the loudest place that are told apart. */
const RANGE = 8;

/**
 * The logarithm of the energy in each band and frame, `MEL_BANDS` rows of `MEL_FRAMES`, scaled as whisper wants it.
 * @param samples At most `MEL_SAMPLES_MAX`; what is missing is silence.
 */
export type LogMel = (samples: Float32Array) => Float32Array;

export function createLogMel(): LogMel {
  const hann = Float64Array.from(
    { length: WINDOW_SAMPLES },
    (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / WINDOW_SAMPLES),
  );
  const filters = melFilters();
  const fourier = createFourier();
  const real = new Float64Array(WINDOW_SAMPLES);
  const imaginary = new Float64Array(WINDOW_SAMPLES);
  const powers = [new Float64Array(BINS), new Float64Array(BINS)] as const;

  return (samples) => {
    const energies = new Float32Array(MEL_BANDS * MEL_FRAMES).fill(Math.log10(ENERGY_MIN));
    // Mirrored at the beginning; at the end silence follows.
    const at = (i: number): number => samples[i < 0 ? -i : i] ?? 0;
    const used = Math.min(MEL_FRAMES, Math.ceil((samples.length + WINDOW_SAMPLES / 2) / HOP_SAMPLES));
    let loudest = Math.log10(ENERGY_MIN);
    for (let frame = 0; frame < used; frame += 2) {
      // Two windows of real numbers in one transform of complex ones.
      const from = frame * HOP_SAMPLES - WINDOW_SAMPLES / 2;
      for (let i = 0; i < WINDOW_SAMPLES; i++) {
        const share = hann[i] ?? 0;
        real[i] = at(from + i) * share;
        imaginary[i] = at(from + HOP_SAMPLES + i) * share;
      }
      splitPowers(fourier(real, imaginary), powers);
      for (const [of, power] of powers.entries()) {
        if (frame + of >= used) break;
        for (const [band, filter] of filters.entries()) {
          const energy = Math.log10(Math.max(heardBy(filter, power), ENERGY_MIN));
          energies[band * MEL_FRAMES + frame + of] = energy;
          loudest = Math.max(loudest, energy);
        }
      }
    }
    return energies.map((energy) => (Math.max(energy, loudest - RANGE) + 4) / 4);
  };
}

/** The transform of a real signal is mirrored; of two signals in one, that tells one from the other. */
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

function heardBy({ from, weights }: Filter, power: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < weights.length; i++) sum += (weights[i] ?? 0) * (power[from + i] ?? 0);
  return sum;
}

interface Filter {
  /** The first bin that it hears. */
  readonly from: number;
  readonly weights: Float64Array;
}

/** Triangles of equal area, evenly spaced on Slaney's scale: even up to 1 kHz, then by ratio. */
function melFilters(): readonly Filter[] {
  const toMel = (hz: number): number =>
    hz < 1_000 ? (hz * 3) / 200 : 15 + (27 * Math.log(hz / 1_000)) / Math.log(6.4);
  const toHz = (mel: number): number =>
    mel < 15 ? (mel * 200) / 3 : 1_000 * Math.exp((Math.log(6.4) * (mel - 15)) / 27);
  const edge = (i: number): number => toHz((toMel(SPEECH_SAMPLE_RATE / 2) * i) / (MEL_BANDS + 1));
  return Array.from({ length: MEL_BANDS }, (_, band) => {
    const [low, middle, high] = [edge(band), edge(band + 1), edge(band + 2)];
    const all = Array.from({ length: BINS }, (_bin, i) => {
      const hz = (i * SPEECH_SAMPLE_RATE) / WINDOW_SAMPLES;
      return (Math.max(0, Math.min((hz - low) / (middle - low), (high - hz) / (high - middle))) * 2) / (high - low);
    });
    const from = Math.max(
      0,
      all.findIndex((weight) => weight > 0),
    );
    return { from, weights: Float64Array.from(all.slice(from, all.findLastIndex((weight) => weight > 0) + 1)) };
  });
}
