import type { Catalogue, ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { LlamaProcessOptions } from '../../engines/llama/llama-process.ts';
import type { Clock } from '../../lib/clock.ts';
import type { WeightsStore } from '../../weights/weights-store.ts';
import { createProgramEngine, planProgram, preferredPlan } from '../server-engines.ts';
import type { ProgramPlan } from '../server-engines.ts';
import { openEmbeddedUnits } from './embedded-units.ts';
import type { Memory } from './memory.ts';
import type { OpenUnits, UnitsWish } from './opened-units.ts';
import { createProgramUnits } from './program-units.ts';
import { openScriptedUnits } from './scripted-units.ts';
import { openUpstreamUnits } from './upstream-units.ts';

export interface OpenUnitsNeeds {
  readonly kind: 'llama' | 'scripted';
  readonly llama: Omit<LlamaProcessOptions, 'name' | 'modelFile' | 'contextTokens'>;
  /** Path of the server program that weights are given to instead of the embedded engine, where one is wanted and there. */
  readonly preferred: string | undefined;
  readonly catalogue: Pick<Catalogue, 'weights'>;
  readonly weights: Pick<WeightsStore, 'locate'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly memory: Memory;
  readonly log: Log;
  readonly clock: Clock;
}

/** From a catalogue entry to the driver of what runs it. */
export function createOpenUnits(needs: OpenUnitsNeeds): OpenUnits {
  const { catalogue, weights } = needs;
  const openPrograms = createProgramUnits();

  const fileOf = async (entry: ModelEntry, id: string): Promise<string> => {
    const file = await weights.locate(catalogue.weights(id));
    if (file !== undefined) return file;
    throw new ServiceError(
      'overloaded',
      `The weights of ${entry.name} are not on this machine: parley models pull ${entry.name}`,
    );
  };

  const programs = (wish: UnitsWish, plan: ProgramPlan, signal: AbortSignal) =>
    openPrograms(
      wish,
      {
        ...needs,
        plan,
        async create(name) {
          const more = { ...needs, ...needs.llama, onToken: () => undefined };
          return await createProgramEngine({ ...wish.entry, name }, plan, more);
        },
      },
      signal,
    );

  return async (wish, signal) => {
    const { entry } = wish;
    const { runs, contextTokens } = entry;
    if (runs.type === 'upstream') return await openUpstreamUnits(wish, runs, needs, signal);
    if (runs.type === 'none') throw new ServiceError('unsupported', `${entry.name}: ${runs.reason}`);
    if (needs.kind === 'scripted') return openScriptedUnits(wish);
    const file = runs.weights === undefined ? undefined : await fileOf(entry, runs.weights);
    if (runs.type === 'program') return await programs(wish, planProgram(entry, runs, file), signal);
    if (needs.preferred !== undefined)
      return await programs(wish, { ...preferredPlan(entry, needs.preferred, file ?? ''), contextTokens }, signal);
    return await openEmbeddedUnits(wish, file ?? '', needs);
  };
}
