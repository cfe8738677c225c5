import { DEPLOYMENT_CONTEXT_TOKENS_MIN, DEPLOYMENT_SEQUENCES_MAX } from './limits.ts';
import { ServiceError } from '../../core/error.ts';
import { createLlamaEngine } from '../../engines/llama/llama-engine.ts';
import { createLlamaProcess, type LlamaProcessOptions } from '../../engines/llama/llama-process.ts';
import { listContextLengths } from '../../engines/plan-context.ts';
import type { Log } from '../../core/telemetry.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { findTemplateFile, readTemplateFile } from '../chat-template-file.ts';
import { getProcessOptions } from '../process-options.ts';
import { estimateUnits, type MemoryBudget, type MemoryEstimate } from './memory-budget.ts';
import type { DeploymentUnits, UnitsRequest } from './deployment-units.ts';

export interface EmbeddedUnitsDeps {
  readonly llama: Omit<LlamaProcessOptions, 'name' | 'modelFile' | 'contextTokens' | 'sequences'>;
  readonly memory: MemoryBudget;
  readonly log: Log;
}

/** Opens units of the embedded engine: one process whose sequences are the units, with shared weights and computation. */
export async function openEmbeddedUnits(
  { name, entry, units, previous }: UnitsRequest,
  modelFile: string,
  { llama, memory, log }: EmbeddedUnitsDeps,
): Promise<DeploymentUnits> {
  const { contextTokens, ...estimate } = await estimateContexts(entry, modelFile, { units, memory });
  const sequences = Math.min(estimate.units, DEPLOYMENT_SEQUENCES_MAX);
  const isFull = sequences === DEPLOYMENT_SEQUENCES_MAX && sequences < units;
  const reason = isFull ? `One engine process has at most ${DEPLOYMENT_SEQUENCES_MAX} units.` : estimate.reason;
  const servingUnits = previous?.units.length ?? 0;
  // A new process that holds no more units than serve now is not worth its start.
  const isNoGain = sequences < units && sequences <= servingUnits;
  if (sequences === 0 || isNoGain)
    throw new ServiceError(
      'overloaded',
      `${reason ?? ''}${servingUnits > 0 ? ` The current ${servingUnits} units continue to serve.` : ''}`,
    );
  const chatTemplate = await readTemplateFile(entry, findTemplateFile(entry, modelFile));
  const process = await createLlamaProcess(
    { ...llama, name, modelFile, ...getProcessOptions(entry), contextTokens, sequences },
    log,
  );
  const engine = createLlamaEngine({ process, sequences, ...omitNullish({ chatTemplate }) });
  // The memory stays reserved until the contexts are allocated; else other openings would see it as free.
  const release = memory.reserveBytes(estimate.estimateBytes(sequences));
  engine.loadModel().then(release, release);
  return {
    engine,
    units: Array.from({ length: sequences }, () => engine),
    isUp: () => engine.state === 'ready',
    ...(reason === undefined ? {} : { reason }),
    connection: { type: 'llama' },
    processes: [process],
    async close() {
      release();
      await engine.close();
    },
  };
}

/**
 * Estimates how many units fit. Without a configured context length, their context is the longest with which all fit, down
 * to `DEPLOYMENT_CONTEXT_TOKENS_MIN`.
 */
async function estimateContexts(
  entry: UnitsRequest['entry'],
  modelFile: string,
  { units, memory }: { readonly units: number; readonly memory: MemoryBudget },
): Promise<MemoryEstimate & { readonly contextTokens: number }> {
  const [first = entry.contextTokens, ...shorter] = entry.isContextGuessed
    ? listContextLengths(entry.contextTokens, DEPLOYMENT_CONTEXT_TOKENS_MIN)
    : [entry.contextTokens];
  const estimateFor = async (contextTokens: number) => ({
    contextTokens,
    ...(await estimateUnits({ modelFile, contextTokens, units }, memory)),
  });
  let estimate = await estimateFor(first);
  for (const contextTokens of shorter) {
    if (estimate.units === units) break;
    estimate = await estimateFor(contextTokens);
  }
  return estimate;
}
