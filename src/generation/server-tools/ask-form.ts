import { ServiceError } from '../../core/error.ts';
import type { JsonSchema } from '../../core/grammar.ts';
import { DECISION_TOKENS_MAX } from '../../core/limits.ts';
import type { Message } from '../../core/message.ts';
import { NO_STOP } from '../../core/request.ts';
import type { GenerationRequest } from '../../core/request.ts';
import { present } from '../../lib/present.ts';
import type { Generation } from '../generation.ts';
import type { Turn } from './turn.ts';

/**
 * Asks the model for an object of a schema. An engine without grammars is asked for the same in words, and its answer read as far
 * as it can be.
 *
 * @returns undefined where nothing usable came; the answer goes on without.
 * @throws ServiceError where the first run of a request is refused; once anything was told, never.
 */
export async function askForm(turn: Turn, messages: readonly Message[], schema: JsonSchema): Promise<unknown> {
  const { request, context } = turn;
  const { signal } = context;
  const plain: GenerationRequest = {
    model: request.model,
    messages,
    sampling: { temperature: 0, ...present({ seed: request.sampling.seed }) },
    stop: NO_STOP,
    choices: 1,
    maxTokens: DECISION_TOKENS_MAX,
  };
  const outputFormat = { type: 'json-schema', name: 'decision', schema, field: 'messages' } as const;
  try {
    const generation = await turn.run({ ...plain, outputFormat }).catch((error: unknown) => {
      if (!isOfForm(error)) throw error;
      return turn.run(plain);
    });
    return parseLoosely(await read(turn, generation));
  } catch (error) {
    const isTooLong = error instanceof ServiceError && error.kind === 'context-exceeded';
    if (signal.aborted || !(turn.hasBegun() || isTooLong)) throw error;
    context.log.warn('a decision about tools could not be made', { error: ServiceError.from(error).message });
    return undefined;
  }
}

/** Such as servers refuse a form with that they do not know. */
const isOfForm = (error: unknown): boolean =>
  error instanceof ServiceError && (error.kind === 'unsupported' || error.kind === 'invalid-request');

/** What was said before a run broke off may be all there was to say: an answer without the wished form ends in a failure. */
async function read(turn: Turn, { batches }: Generation): Promise<string> {
  const pieces: string[] = [];
  let isText = false;
  let [promptTokens, cachedTokens, completionTokens] = [0, 0, 0];
  try {
    for await (const batch of batches)
      for (const event of batch) {
        if (event.type === 'start') [promptTokens, cachedTokens] = [event.inputTokens, event.cachedTokens];
        if (event.type === 'block-start') isText = event.block.type === 'text';
        if (event.type === 'block-delta') completionTokens += event.tokens ?? 0;
        if (event.type === 'block-delta' && isText) pieces.push(event.text);
        if (event.type === 'end') turn.add(event.usage);
      }
  } catch (error) {
    if (turn.context.signal.aborted) throw error;
    turn.add({ promptTokens, cachedTokens, completionTokens });
    if (pieces.length === 0) throw error;
  }
  return pieces.join('');
}

/** The object in a text, which words or a fence may stand around. */
export function parseLoosely(text: string): unknown {
  for (const part of [text, text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)])
    try {
      return JSON.parse(part);
    } catch {
      // The next part may be an object.
    }
  return undefined;
}
