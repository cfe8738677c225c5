import { VOICE_FRAME_SAMPLES } from '../speech-engine.ts';
import { levelOf } from './loud-frames.ts';
import type { VoiceDetector } from './voice-detector.ts';

/** All of these are ours, in dB. */
const SILENCE_DB = -60;
/** How far above the room a frame has to be for an even chance, and how much more makes it certain. */
const VOICE_ABOVE_DB = 9;
const SURE_DB = 2;
/** The room is as loud as its quietest frame; this much a frame it may have become louder since. */
const ROOM_RISE_DB = 0.03;
/** Before anything was heard. */
const ROOM_AT_FIRST_DB = -45;

/** Takes for voice what is clearly louder than the room. For where there is no model that knows better. */
export const energyDetector: VoiceDetector = {
  async detect(samples, state, signal) {
    signal.throwIfAborted();
    let room = state?.[0] ?? ROOM_AT_FIRST_DB;
    const probabilities: number[] = [];
    for (let at = 0; at + VOICE_FRAME_SAMPLES <= samples.length; at += VOICE_FRAME_SAMPLES) {
      const level = levelOf(samples.subarray(at, at + VOICE_FRAME_SAMPLES));
      const heard = Math.max(SILENCE_DB, 20 * Math.log10(Math.max(level, 1e-6)));
      // As it is carried from block to block: in one block all frames are heard as in two.
      room = Math.fround(Math.min(heard, room + ROOM_RISE_DB));
      probabilities.push(1 / (1 + Math.exp((room + VOICE_ABOVE_DB - heard) / SURE_DB)));
    }
    return { probabilities, state: Float32Array.of(room) };
  },
};
