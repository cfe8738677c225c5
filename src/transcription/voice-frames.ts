import { VOICE_FRAME_SAMPLES } from '../engines/speech-engine.ts';
import type { SpeechEngine, VoiceState } from '../engines/speech-engine.ts';

/** Frames that one call of the detector is given: about a second. */
const FRAMES_MAX = 32;

const BLOCK = VOICE_FRAME_SAMPLES * FRAMES_MAX;

export interface VoiceFrames {
  /** @returns Probabilities of the frames that are whole now, in blocks. */
  push(samples: Float32Array): Promise<readonly (readonly number[])[]>;
  /** The last frame, with silence behind what there is of it. */
  finish(): Promise<readonly (readonly number[])[]>;
}

/** Blocks of any size as the whole frames that a voice detector takes. */
export function createVoiceFrames(engine: Pick<SpeechEngine, 'detectVoice'>, signal: AbortSignal): VoiceFrames {
  let rest = new Float32Array(0);
  let state: VoiceState | undefined;

  const detect = async (samples: Float32Array): Promise<readonly (readonly number[])[]> => {
    const found: (readonly number[])[] = [];
    for (let at = 0; at < samples.length; at += BLOCK) {
      const block = await engine.detectVoice(samples.subarray(at, at + BLOCK), state, signal);
      state = block.state;
      found.push(block.probabilities);
    }
    return found;
  };

  return {
    async push(samples) {
      const all = joined(rest, samples);
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

function joined(first: Float32Array, second: Float32Array): Float32Array {
  if (first.length === 0) return second;
  const all = new Float32Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
