import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import { NO_STOP } from '../../../core/request.ts';
import type { Generate, Generation } from '../../../generation/generation.ts';
import { createLinkedAbort } from '../../../lib/linked-abort.ts';
import { NO_TOKEN_USAGE, addTokenUsage } from './step-record.ts';
import type { TokenUsage } from './step-record.ts';

export type ModelPrompt = Pick<GenerationRequest, 'messages' | 'maxTokens' | 'outputFormat'> & {
  /** 0 always selects the most likely token. */
  readonly temperature: number;
};

/** Text of one model call and the tokens it used. */
export interface ModelAnswer {
  readonly text: string;
  readonly usage: TokenUsage;
}

export type RunModel = (prompt: ModelPrompt, context: RequestContext) => Promise<ModelAnswer>;

/**
 * Creates a function that runs the model once and returns its text.
 *
 * A call that fails after the model has started, also by the time limit, returns the text so far. If the caller aborts,
 * it throws.
 *
 * @param getMsLeft Remaining time of the research run, in ms; the time limit of a call.
 * @throws ServiceError of any kind that a generation throws before the model starts; `timeout` when no time is left.
 */
export const createRunModel =
  (generate: Generate, model: string, getMsLeft: () => number): RunModel =>
  async (prompt, callerContext) => {
    const timeoutMs = getMsLeft();
    if (timeoutMs <= 0) throw new ServiceError('timeout', TIMEOUT_MESSAGE);
    const abort = createLinkedAbort(callerContext.signal);
    const timer = setTimeout(() => abort.abort(new ServiceError('timeout', TIMEOUT_MESSAGE)), timeoutMs);
    const context = { ...callerContext, signal: abort.signal };
    const { outputFormat, ...plain } = prompt;
    const start = (request: ModelPrompt): Promise<Generation> =>
      generate(createGenerationRequest(model, request), { interface: 'research' }, context);
    // A server that does not know the output format refuses it; the request is repeated without it.
    try {
      const generation = await start(prompt).catch((error: unknown) => {
        const isFormatRefusal =
          error instanceof ServiceError && (error.kind === 'unsupported' || error.kind === 'invalid-request');
        if (!outputFormat || !isFormatRefusal) throw error;
        return start(plain);
      });
      return await collectAnswer(generation, callerContext);
    } finally {
      clearTimeout(timer);
      abort.unlink();
    }
  };

const TIMEOUT_MESSAGE = 'The model exceeded the time limit of the research run.';

export function createGenerationRequest(model: string, { temperature, ...prompt }: ModelPrompt): GenerationRequest {
  return { model, ...prompt, sampling: { temperature, seed: SEED }, stop: NO_STOP, choices: 1 };
}

/** A fixed seed, so that the same web pages give the same report. */
const SEED = 11;

async function collectAnswer({ batches }: Generation, { signal, log }: RequestContext): Promise<ModelAnswer> {
  const pieces: string[] = [];
  let isText = false;
  let usage = NO_TOKEN_USAGE;
  try {
    for await (const batch of batches)
      for (const event of batch) {
        if (event.type === 'start') usage = { inputTokens: event.inputTokens, outputTokens: 0 };
        if (event.type === 'block-start') isText = event.block.type === 'text';
        if (event.type === 'block-delta') {
          usage = addTokenUsage(usage, { inputTokens: 0, outputTokens: event.tokens ?? 0 });
          if (isText) pieces.push(event.text);
        }
        if (event.type === 'end')
          usage = { inputTokens: event.usage.promptTokens, outputTokens: event.usage.completionTokens };
      }
  } catch (error) {
    if (signal.aborted) throw error;
    log.warn('research model call ended early', { error: ServiceError.from(error).message });
  }
  return { text: pieces.join(''), usage };
}
