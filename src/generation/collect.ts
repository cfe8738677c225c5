import type { Block, FinishReason, GenerationEvent, TokenLogprob } from '../core/event.ts';
import { ServiceError } from '../core/error.ts';
import type { ChoiceResult, GenerationResult, ResultBlock } from '../core/result.ts';
import type { Citation, ServerCallResult } from '../core/server-tools.ts';
import { assert } from '../lib/assert.ts';

/**
 * The fold of a whole stream: what an unstreamed answer is made of.
 *
 * @throws ServiceError `engine-failed` when the stream stops without `end`: a broken answer is never a short success.
 */
export async function collect(batches: AsyncIterable<readonly GenerationEvent[]>): Promise<GenerationResult> {
  const fold = createFold();
  for await (const batch of batches) for (const event of batch) fold.push(event);
  return fold.result();
}

type ServerCallEvent = Extract<GenerationEvent, { type: 'server-call' }>;

interface OpenBlock {
  readonly block: Block | ServerCallEvent;
  readonly pieces: string[];
  readonly logprobs: TokenLogprob[];
  readonly citations: Citation[];
  result?: ServerCallResult;
}

interface OpenChoice {
  readonly blocks: OpenBlock[];
  end: { readonly reason: FinishReason; readonly stop?: string } | undefined;
}

/** The same, event by event. */
export function createFold(): { push(event: GenerationEvent): void; result(): GenerationResult } {
  const choices = new Map<number, OpenChoice>();
  let inputTokens = 0;
  let last: Extract<GenerationEvent, { type: 'end' }> | undefined;

  const choiceOf = (index: number): OpenChoice => {
    const known = choices.get(index);
    if (known) return known;
    const choice: OpenChoice = { blocks: [], end: undefined };
    choices.set(index, choice);
    return choice;
  };

  return {
    push(event) {
      switch (event.type) {
        case 'start':
          inputTokens = event.inputTokens;
          return;
        case 'block-start':
          choiceOf(event.choice).blocks.push({ block: event.block, pieces: [], logprobs: [], citations: [] });
          return;
        case 'server-call':
          choiceOf(event.choice).blocks.push({ block: event, pieces: [], logprobs: [], citations: [] });
          return;
        case 'server-result': {
          const open = choiceOf(event.choice).blocks.at(-1);
          assert(open?.block.type === 'server-call', 'a result comes after its call');
          open.result = event.result;
          return;
        }
        case 'block-delta': {
          const open = choiceOf(event.choice).blocks.at(-1);
          assert(open, 'a delta comes after the start of its block');
          open.pieces.push(event.text);
          if (event.logprobs) open.logprobs.push(...event.logprobs);
          if (event.citations) open.citations.push(...event.citations);
          return;
        }
        case 'block-end':
          return;
        case 'choice-end':
          choiceOf(event.choice).end = event;
          return;
        case 'end':
          last = event;
      }
    },
    result() {
      if (!last) throw new ServiceError('engine-failed', 'The answer broke off before its end.');
      const ordered = [...choices].toSorted(([a], [b]) => a - b);
      return { inputTokens, choices: ordered.map(([, choice]) => close(choice)), usage: last.usage };
    },
  };
}

function close({ blocks, end }: OpenChoice): ChoiceResult {
  assert(end, 'every choice ends before the stream does');
  return {
    blocks: blocks.map(closeBlock),
    reason: end.reason,
    ...(end.stop === undefined ? {} : { stop: end.stop }),
  };
}

function closeBlock({ block, pieces, logprobs, citations, result }: OpenBlock): ResultBlock {
  const said = { text: pieces.join(''), logprobs };
  if (block.type !== 'server-call') return { ...block, ...said, ...(citations.length > 0 ? { citations } : {}) };
  assert(result, 'a call on our side has a result before its answer ends');
  return { type: 'server-call', id: block.id, call: block.call, result, ...said };
}
