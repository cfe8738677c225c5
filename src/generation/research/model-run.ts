import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { NO_STOP } from '../../core/request.ts';
import type { Generate, Generation } from '../generation.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import { NOTHING_SPENT, sumOfSpent } from './kept.ts';
import type { Spent } from './kept.ts';

export type Asked = Pick<GenerationRequest, 'messages' | 'maxTokens' | 'outputFormat'> & {
  /** 0: always the likeliest token. */
  readonly temperature: number;
};

/** What the model said in one run, and what that took. */
export interface ModelAnswer {
  readonly text: string;
  readonly spent: Spent;
}

export type AskModel = (asked: Asked, context: RequestContext) => Promise<ModelAnswer>;

/**
 * @param msLeft Of the run's time: then the model is waited for no longer.
 * @throws ServiceError as a generation refuses; `timeout` where no time is left; what breaks off later is as long as it came.
 */
export const createAskModel =
  (generate: Generate, model: string, msLeft: () => number): AskModel =>
  async (asked, caller) => {
    const leftMs = msLeft();
    if (leftMs <= 0) throw new ServiceError('timeout', TOO_LONG);
    const limit = linkedAbort(caller.signal);
    const timer = setTimeout(() => limit.abort(new ServiceError('timeout', TOO_LONG)), leftMs);
    const context = { ...caller, signal: limit.signal };
    const { outputFormat, ...plain } = asked;
    const start = (request: Asked): Promise<Generation> =>
      generate(requestOf(model, request), { interface: 'research' }, context);
    // Such as servers refuse a form with that they do not know.
    try {
      const generation = await start(asked).catch((error: unknown) => {
        const isOfForm =
          error instanceof ServiceError && (error.kind === 'unsupported' || error.kind === 'invalid-request');
        if (!outputFormat || !isOfForm) throw error;
        return start(plain);
      });
      return await answerOf(generation, caller);
    } finally {
      clearTimeout(timer);
      limit.unlink();
    }
  };

const TOO_LONG = 'The model took longer than the research may.';

export function requestOf(model: string, { temperature, ...asked }: Asked): GenerationRequest {
  return { model, ...asked, sampling: { temperature, seed: SEED }, stop: NO_STOP, choices: 1 };
}

/** Ours: the same research of the same pages is written the same. */
const SEED = 11;

async function answerOf({ batches }: Generation, { signal, log }: RequestContext): Promise<ModelAnswer> {
  const pieces: string[] = [];
  let isText = false;
  let spent = NOTHING_SPENT;
  try {
    for await (const batch of batches)
      for (const event of batch) {
        if (event.type === 'start') spent = { inputTokens: event.inputTokens, outputTokens: 0 };
        if (event.type === 'block-start') isText = event.block.type === 'text';
        if (event.type === 'block-delta') {
          spent = sumOfSpent(spent, { inputTokens: 0, outputTokens: event.tokens ?? 0 });
          if (isText) pieces.push(event.text);
        }
        if (event.type === 'end')
          spent = { inputTokens: event.usage.promptTokens, outputTokens: event.usage.completionTokens };
      }
  } catch (error) {
    if (signal.aborted) throw error;
    log.warn('a run of the model for a research broke off', { error: ServiceError.from(error).message });
  }
  return { text: pieces.join(''), spent };
}
