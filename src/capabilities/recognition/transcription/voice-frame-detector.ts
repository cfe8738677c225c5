import { VOICE_FRAME_SAMPLES } from '../../../engines/speech-engine.ts';
import type { SpeechEngine, VoiceState } from '../../../engines/speech-engine.ts';

/** Frames per call of the detector: about one second. */
const CALL_FRAMES_MAX = 32;

const CALL_SAMPLES_MAX = VOICE_FRAME_SAMPLES * CALL_FRAMES_MAX;

export interface VoiceFrameDetector {
  /** Adds samples. Returns the probabilities of the frames that are complete, in blocks. */
  push(samples: Float32Array): Promise<readonly (readonly number[])[]>;
  /** Returns the probability of the last frame, padded with silence. */
  finish(): Promise<readonly (readonly number[])[]>;
}

/** Splits blocks of any size into the complete frames that a voice detector requires. */
export function createVoiceFrameDetector(
  engine: Pick<SpeechEngine, 'detectVoice'>,
  signal: AbortSignal,
): VoiceFrameDetector {
  let rest = new Float32Array(0);
  let state: VoiceState | undefined;

  const detect = async (samples: Float32Array): Promise<readonly (readonly number[])[]> => {
    const blocks: (readonly number[])[] = [];
    for (let at = 0; at < samples.length; at += CALL_SAMPLES_MAX) {
      const block = await engine.detectVoice(samples.subarray(at, at + CALL_SAMPLES_MAX), state, signal);
      state = block.state;
      blocks.push(block.probabilities);
    }
    return blocks;
  };

  return {
    async push(samples) {
      const all = concatenate(rest, samples);
      const whole = all.length - (all.length % VOICE_FRAME_SAMPLES);
      rest = all.slice(whole);
      return await detect(all.subarray(0, whole));
    },
    async finish() {
      if (rest.length === 0) return [];
      const last = new Float32Array(VOICE_FRAME_SAMPLES);
      last.set(rest);
      rest = new Float32Array(0);
      return await detect(last);
    },
  };
}

function concatenate(first: Float32Array, second: Float32Array): Float32Array {
  if (first.length === 0) return second;
  const all = new Float32Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
