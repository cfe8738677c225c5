/** Ours: −30 dB below the loudest frame. Speech is louder, and rooms in which anything is understood are quieter. */
const SHARE_OF_LOUDEST = 0.03;

/** Which frames are not a pause. Under noise all of them are. */
export function loudFrames(
  samples: Float32Array,
  { frames, frameSamples }: { readonly frames: number; readonly frameSamples: number },
): readonly boolean[] {
  const levels = Array.from({ length: frames }, (_, frame) =>
    levelOf(samples.subarray(frame * frameSamples, (frame + 1) * frameSamples)),
  );
  const loudest = levels.reduce((a, b) => Math.max(a, b), 0);
  return levels.map((level) => level > loudest * SHARE_OF_LOUDEST);
}

/** Root of the mean square: 1 is the loudest there can be. */
export function levelOf(samples: Float32Array): number {
  let squares = 0;
  for (const sample of samples) squares += sample * sample;
  return Math.sqrt(squares / Math.max(1, samples.length));
}
