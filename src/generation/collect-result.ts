import type { Block, GenerationEvent, LateThought, TokenLogprob } from '../core/event.ts';
import type { ChoiceResult, GenerationResult, ResultBlock } from '../core/result.ts';
import type { Citation, ServerCallResult } from '../core/server-tools.ts';
import { assert } from '../lib/assert.ts';
import { createIncompleteAnswerError } from '../core/generation-errors.ts';

/**
 * Collects a stream of events into the result of a request that is not streamed.
 *
 * @throws ServiceError `engine-failed` when the stream stops without its `end` event: a broken answer is never a
 *   success.
 */
export async function collectResult(batches: AsyncIterable<readonly GenerationEvent[]>): Promise<GenerationResult> {
  const builder = createResultBuilder();
  for await (const batch of batches) for (const event of batch) builder.push(event);
  return builder.result();
}

type ServerCallEvent = Extract<GenerationEvent, { type: 'server-call' }>;

interface OpenBlock {
  readonly block: Block | ServerCallEvent;
  readonly pieces: string[];
  readonly logprobs: TokenLogprob[];
  readonly citations: Citation[];
  result?: ServerCallResult;
  thought?: LateThought;
}

interface OpenChoice {
  prompt: { readonly pieces: string[]; readonly logprobs: TokenLogprob[] } | undefined;
  readonly blocks: OpenBlock[];
  end: Extract<GenerationEvent, { type: 'choice-end' }> | undefined;
}

/** Builds a result from single events. `result` throws `engine-failed` before the `end` event. */
export function createResultBuilder(): { push(event: GenerationEvent): void; result(): GenerationResult } {
  const choices = new Map<number, OpenChoice>();
  let inputTokens = 0;
  let endEvent: Extract<GenerationEvent, { type: 'end' }> | undefined;

  const getChoice = (index: number): OpenChoice => {
    const existing = choices.get(index);
    if (existing) return existing;
    const choice: OpenChoice = { prompt: undefined, blocks: [], end: undefined };
    choices.set(index, choice);
    return choice;
  };

  return {
    push(event) {
      switch (event.type) {
        case 'start':
          inputTokens = event.inputTokens;
          return;
        case 'prompt': {
          const choice = getChoice(event.choice);
          choice.prompt ??= { pieces: [], logprobs: [] };
          choice.prompt.pieces.push(event.text);
          for (const each of event.logprobs) choice.prompt.logprobs.push(each);
          return;
        }
        case 'block-start':
          getChoice(event.choice).blocks.push({ block: event.block, pieces: [], logprobs: [], citations: [] });
          return;
        case 'server-call':
          getChoice(event.choice).blocks.push({ block: event, pieces: [], logprobs: [], citations: [] });
          return;
        case 'server-result': {
          const open = getChoice(event.choice).blocks.at(-1);
          assert(open?.block.type === 'server-call', 'a server result follows its server call');
          open.result = event.result;
          return;
        }
        case 'block-delta': {
          const open = getChoice(event.choice).blocks.at(-1);
          assert(open, 'a delta follows the start of its block');
          open.pieces.push(event.text);
          if (event.logprobs) open.logprobs.push(...event.logprobs);
          if (event.citations) open.citations.push(...event.citations);
          return;
        }
        case 'block-end': {
          const open = getChoice(event.choice).blocks.at(-1);
          if (open && event.thought) open.thought = event.thought;
          return;
        }
        case 'choice-end':
          getChoice(event.choice).end = event;
          return;
        case 'end':
          endEvent = event;
      }
    },
    result() {
      if (!endEvent) throw createIncompleteAnswerError();
      const ordered = [...choices].toSorted(([a], [b]) => a - b);
      return { inputTokens, choices: ordered.map(([, choice]) => buildChoiceResult(choice)), usage: endEvent.usage };
    },
  };
}

function buildChoiceResult({ prompt, blocks, end }: OpenChoice): ChoiceResult {
  assert(end, 'every choice ends before the stream does');
  return {
    ...(prompt ? { prompt: { text: prompt.pieces.join(''), logprobs: prompt.logprobs } } : {}),
    blocks: separateThought(blocks).map(buildResultBlock),
    reason: end.reason,
    ...(end.stop === undefined ? {} : { stop: end.stop }),
    ...(end.hasUnparsedCall ? { hasUnparsedCall: true } : {}),
  };
}

/** Separates the thought that only its end showed from the answer, unless there is no other answer. */
function separateThought(blocks: readonly OpenBlock[]): readonly OpenBlock[] {
  const [first, ...rest] = blocks;
  const hasAnswer = rest.some(({ block, pieces }) => block.type !== 'text' || pieces.join('').trim() !== '');
  if (!first?.thought || !hasAnswer) return blocks;
  const [answer, ...more] = rest;
  const trimmed =
    answer?.block.type === 'text' ? [{ ...answer, pieces: [answer.pieces.join('').trimStart()] }, ...more] : rest;
  if (first.thought === 'dropped') return trimmed;
  return [{ ...first, block: { type: 'reasoning' }, pieces: [first.pieces.join('').trim()], logprobs: [] }, ...trimmed];
}

function buildResultBlock({ block, pieces, logprobs, citations, result }: OpenBlock): ResultBlock {
  const content = { text: pieces.join(''), logprobs };
  if (block.type !== 'server-call') return { ...block, ...content, ...(citations.length > 0 ? { citations } : {}) };
  assert(result, 'a server call has a result before its answer ends');
  return { type: 'server-call', id: block.id, call: block.call, result, ...content };
}
