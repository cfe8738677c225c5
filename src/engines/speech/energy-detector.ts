import { VOICE_FRAME_SAMPLES, type VoiceBlock, type VoiceState } from '../speech-engine.ts';
import { computeRmsLevel } from './find-loud-frames.ts';

/** Quietest level that is distinguished, in dB. This and the following values are Parley's. */
const SILENCE_DB = -60;
/**
 * Level above the noise floor, in dB, with a voice probability of 0.5, and the slope of the logistic function there.
 */
const VOICE_ABOVE_NOISE_DB = 9;
const SLOPE_DB = 2;
/** The noise floor follows the quietest frame. Without one, it rises by this much per frame, in dB. */
const NOISE_FLOOR_RISE_DB = 0.03;
/** Noise floor before the first frame, in dB. */
const INITIAL_NOISE_FLOOR_DB = -45;

/** Voice detector that compares the level with the noise floor. Used if no voice detection model is installed. */
export const energyDetector: VoiceDetector = {
  async detect(samples, state, signal) {
    signal.throwIfAborted();
    let noiseFloorDb = state?.[0] ?? INITIAL_NOISE_FLOOR_DB;
    const probabilities: number[] = [];
    for (let at = 0; at + VOICE_FRAME_SAMPLES <= samples.length; at += VOICE_FRAME_SAMPLES) {
      const level = computeRmsLevel(samples.subarray(at, at + VOICE_FRAME_SAMPLES));
      const levelDb = Math.max(SILENCE_DB, 20 * Math.log10(Math.max(level, 1e-6)));
      // Round as the state is rounded between blocks, so that block boundaries do not change the result.
      noiseFloorDb = Math.fround(Math.min(levelDb, noiseFloorDb + NOISE_FLOOR_RISE_DB));
      probabilities.push(1 / (1 + Math.exp((noiseFloorDb + VOICE_ABOVE_NOISE_DB - levelDb) / SLOPE_DB)));
    }
    return { probabilities, state: Float32Array.of(noiseFloorDb) };
  },
};

/** Detects speech frame by frame. The returned state continues the detection with the next block. */
export interface VoiceDetector {
  /** @param samples Complete frames. @throws the signal's reason between two frames. */
  detect(samples: Float32Array, state: VoiceState | undefined, signal: AbortSignal): Promise<VoiceBlock>;
}
