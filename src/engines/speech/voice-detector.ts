import type { VoiceBlock, VoiceState } from '../speech-engine.ts';

/** Detects speech frame by frame. The returned state continues the detection with the next block. */
export interface VoiceDetector {
  /** @param samples Complete frames. @throws the signal's reason between two frames. */
  detect(samples: Float32Array, state: VoiceState | undefined, signal: AbortSignal): Promise<VoiceBlock>;
}
