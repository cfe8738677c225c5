import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';

/** So many ms of a level: what the scripted engine hears as a word, or 0 for silence. */
export type Level = readonly [ms: number, level: number];

/** Audio in which these follow each other. */
export function levels(...parts: readonly Level[]): Float32Array {
  const blocks = parts.map(([ms, level]) => new Float32Array((ms * SPEECH_SAMPLE_RATE) / 1_000).fill(level / 100));
  const all = new Float32Array(blocks.reduce((sum, each) => sum + each.length, 0));
  let at = 0;
  for (const block of blocks) {
    all.set(block, at);
    at += block.length;
  }
  return all;
}

/** The same audio in blocks of these sizes, one after the other and again. */
export function* inBlocks(audio: Float32Array, sizes: readonly number[]): Generator<Float32Array> {
  for (let at = 0, turn = 0; at < audio.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? audio.length;
    yield audio.subarray(at, at + size);
    at += size;
  }
}
