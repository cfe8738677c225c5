import { DEPLOYMENT_SEQUENCES_MAX } from '../../core/limits.ts';
import { ServiceError } from '../../core/error.ts';
import { createLlamaEngine } from '../../engines/llama/llama-engine.ts';
import { createLlamaProcess } from '../../engines/llama/llama-process.ts';
import type { LlamaProcessOptions } from '../../engines/llama/llama-process.ts';
import type { Log } from '../../core/telemetry.ts';
import { unitsInMemory } from './memory.ts';
import type { Memory } from './memory.ts';
import type { OpenedUnits, UnitsWish } from './opened-units.ts';

export interface EmbeddedNeeds {
  readonly llama: Omit<LlamaProcessOptions, 'name' | 'modelFile' | 'contextTokens' | 'sequences'>;
  readonly memory: Memory;
  readonly log: Log;
}

/** One process of its own: its units are sequences, which share the weights, and a tick's work. */
export async function openEmbeddedUnits(
  { name, entry: { contextTokens }, units, previous }: UnitsWish,
  modelFile: string,
  { llama, memory, log }: EmbeddedNeeds,
): Promise<OpenedUnits> {
  const inMemory = await unitsInMemory({ modelFile, contextTokens, units }, memory);
  const sequences = Math.min(inMemory.units, DEPLOYMENT_SEQUENCES_MAX);
  const isFull = sequences === DEPLOYMENT_SEQUENCES_MAX && sequences < units;
  const reason = isFull ? `One engine process has at most ${DEPLOYMENT_SEQUENCES_MAX} units.` : inMemory.reason;
  const serving = previous?.units.length ?? 0;
  // What would hold no more than what serves is not worth its start.
  const isInVain = sequences < units && sequences <= serving;
  if (sequences === 0 || isInVain)
    throw new ServiceError(
      'overloaded',
      `${reason ?? ''}${serving > 0 ? ` The ${serving} that serve beside it stay.` : ''}`,
    );
  const process = await createLlamaProcess({ ...llama, name, modelFile, contextTokens, sequences }, log);
  const engine = createLlamaEngine({ process, sequences });
  // Until its contexts are there, others would see their memory free.
  const release = memory.claim(inMemory.bytesOf(sequences));
  engine.model().then(release, release);
  return {
    engine,
    units: Array.from({ length: sequences }, () => engine),
    isUp: () => engine.state === 'ready',
    ...(reason === undefined ? {} : { reason }),
    reach: { type: 'llama' },
    processes: [process],
    async close() {
      release();
      await engine.close();
    },
  };
}
