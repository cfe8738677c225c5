/** −30 dB relative to the loudest frame: speech is louder, and usable background noise is quieter. */
const LOUD_LEVEL_RATIO = 0.03;

/** Returns for each frame whether it is louder than a pause. In noisy audio, all frames are. */
export function findLoudFrames(
  samples: Float32Array,
  { frames, frameSamples }: { readonly frames: number; readonly frameSamples: number },
): readonly boolean[] {
  const levels = Array.from({ length: frames }, (_, frame) =>
    computeRmsLevel(samples.subarray(frame * frameSamples, (frame + 1) * frameSamples)),
  );
  const loudest = levels.reduce((a, b) => Math.max(a, b), 0);
  return levels.map((level) => level > loudest * LOUD_LEVEL_RATIO);
}

/** Root mean square of the samples: 1 is full scale. */
export function computeRmsLevel(samples: Float32Array): number {
  let squares = 0;
  for (const sample of samples) squares += sample * sample;
  return Math.sqrt(squares / Math.max(1, samples.length));
}
