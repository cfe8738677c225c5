import type { IdGenerator } from '../../../core/id.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { ExecuteLine } from './execute-line.ts';

/** Model that the lines of a dry run must name; it is never run (docs/wire/openai-compatible.md#batches). */
export const DRY_RUN_MODEL = 'batch-test-model';

/** Returns an executor that answers every line with the same test result. */
export function createDryRun({
  ids,
  clock,
}: {
  readonly ids: Pick<IdGenerator, 'createRequestId'>;
  readonly clock: Clock;
}): ExecuteLine {
  return async () => {
    const requestId = ids.createRequestId();
    const message = { role: 'assistant', content: 'This is a test result.' };
    const body = {
      choices: [{ message, finish_reason: 'stop', index: 0, logprobs: null }],
      object: 'chat.completion',
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      created: Math.floor(clock.now() / 1000),
      system_fingerprint: null,
      model: DRY_RUN_MODEL,
      id: `chatcmpl-${requestId}`,
    };
    return { status: 200, requestId, body, headers: undefined, error: undefined, retryAfterSeconds: undefined };
  };
}
