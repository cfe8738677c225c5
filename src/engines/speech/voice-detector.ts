import type { VoiceBlock, VoiceState } from '../speech-engine.ts';

/** Hears whether anybody speaks, frame by frame; the state that it returns goes on where it stopped. */
export interface VoiceDetector {
  /** @param samples Whole frames. @throws the signal's reason between two frames. */
  detect(samples: Float32Array, state: VoiceState | undefined, signal: AbortSignal): Promise<VoiceBlock>;
}
