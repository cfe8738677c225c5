import { SPEECH_SAMPLE_RATE } from '../../../../core/speech.ts';

/** Duration in ms, and level: the word that the scripted engine recognizes, or 0 for silence. */
export type TestAudioPart = readonly [ms: number, level: number];

/** Creates audio from consecutive parts. */
export function createTestAudio(...parts: readonly TestAudioPart[]): Float32Array {
  const blocks = parts.map(([ms, level]) => new Float32Array((ms * SPEECH_SAMPLE_RATE) / 1_000).fill(level / 100));
  const all = new Float32Array(blocks.reduce((sum, each) => sum + each.length, 0));
  let at = 0;
  for (const block of blocks) {
    all.set(block, at);
    at += block.length;
  }
  return all;
}

/** Splits audio into blocks of these sizes, repeatedly. */
export function* splitIntoBlocks(audio: Float32Array, sizes: readonly number[]): Generator<Float32Array> {
  for (let at = 0, block = 0; at < audio.length; block += 1) {
    const size = sizes[block % sizes.length] ?? audio.length;
    yield audio.subarray(at, at + size);
    at += size;
  }
}
