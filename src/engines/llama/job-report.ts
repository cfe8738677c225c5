import { findSchemaField } from '../grammar-compiler.ts';
import { countCacheTokens } from './explicit-cache.ts';
import { SlowGrammarError } from './grammar-guard.ts';
import type { GenerationJob, JobChoice } from './job.ts';
import type { EngineRefusal, TokenCounts } from './protocol.ts';

/** Counts the tokens of all choices of a job. */
export function countJobTokens(
  job: Pick<GenerationJob, 'prompt' | 'cachedTokens' | 'cacheRequest'> & {
    readonly choices: readonly { readonly output: Pick<JobChoice['output'], 'totalTokens' | 'thoughtTokens'> }[];
  },
): TokenCounts {
  return {
    promptTokens: job.prompt.length,
    cachedTokens: job.cachedTokens,
    completionTokens: job.choices.reduce((sum, { output }) => sum + output.totalTokens, 0),
    ...countCacheTokens(job),
    thoughtTokens: job.choices.reduce((sum, { output }) => sum + output.thoughtTokens, 0),
  };
}

/** Reports a slow grammar as an invalid request; every other error is internal. */
export function toRefusal(error: unknown, choice: JobChoice | undefined): EngineRefusal {
  if (!(error instanceof SlowGrammarError)) return { kind: 'internal', message: String(error) };
  const field = findSchemaField(choice?.job.call.phases[choice.output.phase]?.grammar);
  return { kind: 'invalid', message: error.message, ...(field === undefined ? {} : { param: field }) };
}
