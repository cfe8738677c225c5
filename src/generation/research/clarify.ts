import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { FinishReason, GenerationEvent } from '../../core/event.ts';
import { RESEARCH_QUESTION_TOKENS_MAX } from '../../core/limits.ts';
import type { ResearchEvent, ResearchRequest } from '../../core/research.ts';
import type { Generate } from '../generation.ts';
import { clarifyPrompt } from './clarify-prompt.ts';
import { NOTHING_SPENT, sumOfSpent } from './kept.ts';
import { requestOf } from './model-run.ts';
import { topicOf } from './topic.ts';

/**
 * The question that is asked back, as the model writes it. Nothing is searched.
 *
 * @throws ServiceError as a generation refuses; `engine-failed` where nothing came. Resolves with the first word.
 */
export async function clarify(
  { model, messages }: ResearchRequest,
  generate: Generate,
  context: RequestContext,
): Promise<AsyncIterable<readonly ResearchEvent[]>> {
  const asked = {
    messages: clarifyPrompt(topicOf(messages)),
    maxTokens: RESEARCH_QUESTION_TOKENS_MAX,
    temperature: 0,
  };
  const generation = await generate(requestOf(model, asked), { interface: 'research' }, context);
  const told = questionEvents(generation.batches);
  const first = await told.next();
  if (first.done) throw new ServiceError('engine-failed', 'The model asked nothing.');
  return opened(first.value, told);
}

type Events = readonly ResearchEvent[];

/** Begins with the first word; none where there is none. */
async function* questionEvents(batches: AsyncIterable<readonly GenerationEvent[]>): AsyncGenerator<Events, void> {
  let isText = false;
  let hasBegun = false;
  let reason: FinishReason = 'stop';
  let spent = NOTHING_SPENT;
  for await (const batch of batches) {
    const pieces: string[] = [];
    let end: Extract<GenerationEvent, { type: 'end' }> | undefined;
    for (const event of batch) {
      if (event.type === 'start') spent = { inputTokens: event.inputTokens, outputTokens: 0 };
      if (event.type === 'block-start') isText = event.block.type === 'text';
      if (event.type === 'block-delta') {
        spent = sumOfSpent(spent, { inputTokens: 0, outputTokens: event.tokens ?? 0 });
        if (isText) pieces.push(event.text);
      }
      if (event.type === 'choice-end') ({ reason } = event);
      if (event.type === 'end') end = event;
    }
    const piece = pieces.join('');
    const text: string = hasBegun ? piece : piece.trimStart();
    hasBegun ||= text !== '';
    if (text !== '')
      yield [
        { type: 'usage', ...spent },
        { type: 'question', text },
      ];
    if (!end) continue;
    if (!hasBegun) return;
    const { promptTokens, completionTokens } = end.usage;
    yield [
      { type: 'usage', inputTokens: promptTokens, outputTokens: completionTokens },
      { type: 'end', reason: reason === 'length' ? 'length' : 'stop' },
    ];
    return;
  }
  throw new ServiceError('engine-failed', 'The answer broke off before its end.');
}

/** What was taken already goes out first; giving up early ends the run, also before anything was read. */
const opened = (first: Events, rest: AsyncGenerator<Events, void>): AsyncIterable<Events> => ({
  [Symbol.asyncIterator]() {
    let waiting: Events | undefined = first;
    return {
      async next() {
        if (!waiting) return await rest.next();
        const value = waiting;
        waiting = undefined;
        return { done: false, value };
      },
      async return() {
        await rest.return();
        return { done: true, value: undefined };
      },
    };
  },
});
