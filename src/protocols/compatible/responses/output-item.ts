import type { Block, TokenLogprob } from '../../../core/event.ts';
import type { Citation } from '../../../core/server-tools.ts';
import { encodeLogprobs } from '../../fields/logprobs.ts';
import { itemPrefix } from '../items/item-prefixes.ts';
import { outputId } from './head.ts';
import type { ResponseHead } from './head.ts';

export type OutputStatus = 'in_progress' | 'completed' | 'incomplete';

/** What an item says, or has said so far. */
export interface Said {
  readonly text: string;
  readonly logprobs: readonly TokenLogprob[];
  readonly citations?: readonly Citation[];
}

export type OutputItem = { readonly type: string; readonly id: string } & Readonly<Record<string, unknown>>;

/** Where an item stands among the output of its response. */
export interface OutputPlace {
  readonly head: Pick<ResponseHead, 'id'>;
  readonly index: number;
}

export function itemId(block: Block, { head, index }: OutputPlace): string {
  return outputId(head, itemPrefix(TYPES[block.type]), index);
}

const TYPES = { text: 'message', reasoning: 'reasoning', 'tool-call': 'function_call' } as const satisfies Record<
  Block['type'],
  string
>;

/** An item when it is complete, or as complete as it will be: wire.md E6.4. */
export function outputItem(block: Block, said: Said, place: OutputPlace, status: OutputStatus): OutputItem {
  const id = itemId(block, place);
  switch (block.type) {
    case 'reasoning':
      return { type: 'reasoning', id, summary: [summaryPart(said.text)] };
    case 'text':
      return { type: 'message', id, role: 'assistant', status, content: [textPart(said)] };
    case 'tool-call':
      return { type: 'function_call', id, call_id: block.id, name: block.name, arguments: said.text, status };
  }
}

/** The same before it has said anything. */
export function openedItem(block: Block, place: OutputPlace): OutputItem {
  const id = itemId(block, place);
  switch (block.type) {
    case 'reasoning':
      return { type: 'reasoning', id, summary: [] };
    case 'text':
      return { type: 'message', id, role: 'assistant', status: 'in_progress', content: [] };
    case 'tool-call':
      return outputItem(block, NOTHING, place, 'in_progress');
  }
}

export const NOTHING: Said = { text: '', logprobs: [] };

export const summaryPart = (text: string): object => ({ type: 'summary_text', text });

export const textPart = ({ text, logprobs, citations = [] }: Said): object => ({
  type: 'output_text',
  text,
  annotations: citations.map(annotation),
  logprobs: tellLogprobs(logprobs),
});

/** What a sentence rests on. Places are counted in code points, as the clients of this interface count. */
export const annotation = ({ source: { url, title }, start, end }: Citation): object => ({
  type: 'url_citation',
  start_index: start,
  end_index: end,
  url,
  title,
});

export const tellLogprobs = (logprobs: readonly TokenLogprob[]): readonly unknown[] =>
  encodeLogprobs(logprobs)?.content ?? [];
