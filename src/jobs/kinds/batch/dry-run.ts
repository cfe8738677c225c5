import type { Ids } from '../../../core/id.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { ExecuteLine } from './execute-line.ts';

/** wire.md E9.3: the lines of a dry run name a model that there is nowhere else, and none is run. */
export const DRY_RUN_MODEL = 'batch-test-model';

/** Answers every line with the same words. */
export function createDryRun({
  ids,
  clock,
}: {
  readonly ids: Pick<Ids, 'request'>;
  readonly clock: Clock;
}): ExecuteLine {
  return async () => {
    const requestId = ids.request();
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
