import type { TokenLogprob } from '../../core/event.ts';
import { PROMPT_LOGPROB_MIN } from '../../core/limits.ts';
import type { UpstreamErrorFactory } from '../remote/upstream-error-factory.ts';

/**
 * Returns the entries of the prompt's tokens. The first one has no log probability, all others have one.
 * @throws ServiceError when the server did not report each token.
 */
export function checkPromptLogprobs(
  entries: readonly TokenLogprob[],
  { promptTokens, errors }: { readonly promptTokens: number; readonly errors: UpstreamErrorFactory },
): readonly TokenLogprob[] {
  if (entries.length !== promptTokens)
    throw errors.createFailure(
      `reports log probabilities of ${entries.length} tokens for a prompt of ${promptTokens} tokens`,
    );
  return entries.map((entry, index) =>
    index === 0
      ? { ...entry, logprob: undefined, top: [] }
      : { ...entry, logprob: Math.max(entry.logprob ?? -Infinity, PROMPT_LOGPROB_MIN) },
  );
}
