import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { FinishReason, GenerationEvent } from '../../../core/event.ts';
import { RESEARCH_QUESTION_TOKENS_MAX } from './limits.ts';
import type { ResearchEvent, ResearchRequest } from '../research.ts';
import type { Generate } from '../../../generation/generation.ts';
import { createClarifyPrompt } from './clarify-prompt.ts';
import { NO_TOKEN_USAGE, addTokenUsage } from './step-record.ts';
import { createGenerationRequest } from './run-model.ts';
import { parseTopic } from './topic.ts';
import { createIncompleteAnswerError } from '../../../core/generation-errors.ts';

/**
 * Streams the question that the model asks the user about the topic. Searches nothing. Resolves once the first text of
 * the question has arrived.
 *
 * @throws ServiceError of any kind that a generation throws; `engine-failed` when the model generated no text.
 */
export async function askClarifyingQuestion(
  { model, messages }: ResearchRequest,
  generate: Generate,
  context: RequestContext,
): Promise<AsyncIterable<readonly ResearchEvent[]>> {
  const prompt = {
    messages: createClarifyPrompt(parseTopic(messages)),
    maxTokens: RESEARCH_QUESTION_TOKENS_MAX,
    temperature: 0,
  };
  const generation = await generate(createGenerationRequest(model, prompt), { interface: 'research' }, context);
  const events = streamQuestionEvents(generation.batches);
  const first = await events.next();
  if (first.done) throw new ServiceError('engine-failed', 'The model generated no question.');
  return createEventStream(first.value, events);
}

type Events = readonly ResearchEvent[];

/** Yields nothing before the first text, and nothing at all when the model generates none. */
async function* streamQuestionEvents(batches: AsyncIterable<readonly GenerationEvent[]>): AsyncGenerator<Events, void> {
  let isText = false;
  let hasText = false;
  let reason: FinishReason = 'stop';
  let usage = NO_TOKEN_USAGE;
  for await (const batch of batches) {
    const pieces: string[] = [];
    let end: Extract<GenerationEvent, { type: 'end' }> | undefined;
    for (const event of batch) {
      if (event.type === 'start') usage = { inputTokens: event.inputTokens, outputTokens: 0 };
      if (event.type === 'block-start') isText = event.block.type === 'text';
      if (event.type === 'block-delta') {
        usage = addTokenUsage(usage, { inputTokens: 0, outputTokens: event.tokens ?? 0 });
        if (isText) pieces.push(event.text);
      }
      if (event.type === 'choice-end') ({ reason } = event);
      if (event.type === 'end') end = event;
    }
    const piece = pieces.join('');
    const text: string = hasText ? piece : piece.trimStart();
    hasText ||= text !== '';
    if (text !== '')
      yield [
        { type: 'usage', ...usage },
        { type: 'question', text },
      ];
    if (!end) continue;
    if (!hasText) return;
    const { promptTokens, completionTokens } = end.usage;
    yield [
      { type: 'usage', inputTokens: promptTokens, outputTokens: completionTokens },
      { type: 'end', reason: reason === 'length' ? 'length' : 'stop' },
    ];
    return;
  }
  throw createIncompleteAnswerError();
}

/** Yields `first`, then `rest`. `return` ends the run immediately, even before the first `next`. */
const createEventStream = (first: Events, rest: AsyncGenerator<Events, void>): AsyncIterable<Events> => ({
  [Symbol.asyncIterator]() {
    let buffered: Events | undefined = first;
    return {
      async next() {
        if (!buffered) return await rest.next();
        const value = buffered;
        buffered = undefined;
        return { done: false, value };
      },
      async return() {
        await rest.return();
        return { done: true, value: undefined };
      },
    };
  },
});
