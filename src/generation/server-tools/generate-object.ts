import { ServiceError } from '../../core/error.ts';
import type { JsonSchema } from '../../core/grammar.ts';
import { DECISION_TOKENS_MAX } from './limits.ts';
import type { Message } from '../../core/message.ts';
import { NO_STOP, type GenerationRequest } from '../../core/request.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { Generation } from '../generation.ts';
import type { AnswerSession } from './answer-session.ts';

/**
 * Generates a JSON object of a schema. An engine without grammars runs without the schema, and its text is parsed as
 * far as possible.
 *
 * @returns undefined when the text contains no JSON; the answer continues without the decision.
 * @throws ServiceError when the run fails before the stream has started. Later failures are logged.
 */
export async function generateObject(
  answer: AnswerSession,
  messages: readonly Message[],
  schema: JsonSchema,
): Promise<unknown> {
  const { request, context } = answer;
  const { signal } = context;
  const plainRequest: GenerationRequest = {
    model: request.model,
    messages,
    sampling: { temperature: 0, ...omitNullish({ seed: request.sampling.seed }) },
    stop: NO_STOP,
    choices: 1,
    maxTokens: DECISION_TOKENS_MAX,
  };
  const outputFormat = { type: 'json-schema', name: 'decision', schema, field: 'messages' } as const;
  try {
    const generation = await answer.runModel({ ...plainRequest, outputFormat }).catch((error: unknown) => {
      if (!isFormatRefusal(error)) throw error;
      return answer.runModel(plainRequest);
    });
    return parseEmbeddedJson(await readText(answer, generation));
  } catch (error) {
    const isTooLong = error instanceof ServiceError && error.kind === 'context-exceeded';
    if (signal.aborted || !(answer.hasStarted() || isTooLong)) throw error;
    context.log.warn('decision about server tools failed', { error: ServiceError.from(error).message });
    return undefined;
  }
}

/** Error kinds with which a server refuses an output format that it does not know. */
const isFormatRefusal = (error: unknown): boolean =>
  error instanceof ServiceError && (error.kind === 'unsupported' || error.kind === 'invalid-request');

/**
 * Keeps the text of a run that failed after its start: it may be complete, as text in the wrong format ends in a
 * failure.
 */
async function readText(answer: AnswerSession, { batches }: Generation): Promise<string> {
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
        if (event.type === 'end') answer.addUsage(event.usage);
      }
  } catch (error) {
    if (answer.context.signal.aborted) throw error;
    answer.addUsage({ promptTokens, cachedTokens, completionTokens });
    if (pieces.length === 0) throw error;
  }
  return pieces.join('');
}

/** Parses JSON, or the object inside other text such as a code fence. Returns undefined when there is none. */
export function parseEmbeddedJson(text: string): unknown {
  for (const part of [text, text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)])
    try {
      return JSON.parse(part);
    } catch {
      // The next part may be an object.
    }
  return undefined;
}
