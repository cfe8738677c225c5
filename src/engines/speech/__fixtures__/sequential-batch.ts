import type { DecoderBatch, DecoderSession } from '../whisper-model.ts';

/** Creates a batch that continues one session after the other, for decoders that cannot decode several at once. */
export function createSequentialBatch(session: DecoderSession): DecoderBatch {
  let sequences = [session.fork()];
  return {
    async step(continuations) {
      sequences = continuations.map(({ parent }) => {
        const sequence = sequences[parent];
        if (!sequence) throw new RangeError(`the batch has no sequence ${parent}`);
        return sequence.fork();
      });
      return await Promise.all(sequences.map((sequence, at) => sequence.step([continuations[at]?.token ?? -1])));
    },
  };
}
