import type { Block, TokenLogprob } from '../../../core/event.ts';
import type { Citation } from '../../../core/server-tools.ts';
import { encodeLogprobs } from '../../fields/logprobs.ts';
import { getItemPrefix } from '../items/item-prefixes.ts';
import { formatOutputId, type ResponseHead } from './head.ts';

export type OutputStatus = 'in_progress' | 'completed' | 'incomplete';

/** Content of an output item, complete or so far. */
export interface ItemContent {
  readonly text: string;
  readonly logprobs: readonly TokenLogprob[];
  readonly citations?: readonly Citation[];
}

export type OutputItem = { readonly type: string; readonly id: string } & Readonly<Record<string, unknown>>;

/** Position of an item in the output of its response. */
export interface OutputPosition {
  readonly head: Pick<ResponseHead, 'id'>;
  readonly index: number;
}

export function formatItemId(block: Block, { head, index }: OutputPosition): string {
  return formatOutputId(head, getItemPrefix(TYPES[block.type]), index);
}

const TYPES = { text: 'message', reasoning: 'reasoning', 'tool-call': 'function_call' } as const satisfies Record<
  Block['type'],
  string
>;

/** Encodes an item with its final content (docs/wire/openai-compatible.md#response-object). */
export function encodeOutputItem(
  block: Block,
  content: ItemContent,
  position: OutputPosition,
  status: OutputStatus,
): OutputItem {
  const id = formatItemId(block, position);
  switch (block.type) {
    case 'reasoning':
      return { type: 'reasoning', id, summary: [encodeSummaryPart(content.text)] };
    case 'text':
      return { type: 'message', id, role: 'assistant', status, content: [encodeTextPart(content)] };
    case 'tool-call':
      return { type: 'function_call', id, call_id: block.id, name: block.name, arguments: content.text, status };
  }
}

/** Encodes an item that has no content yet. */
export function encodeOpenedItem(block: Block, position: OutputPosition): OutputItem {
  const id = formatItemId(block, position);
  switch (block.type) {
    case 'reasoning':
      return { type: 'reasoning', id, summary: [] };
    case 'text':
      return { type: 'message', id, role: 'assistant', status: 'in_progress', content: [] };
    case 'tool-call':
      return encodeOutputItem(block, EMPTY_CONTENT, position, 'in_progress');
  }
}

export const EMPTY_CONTENT: ItemContent = { text: '', logprobs: [] };

export const encodeSummaryPart = (text: string): object => ({ type: 'summary_text', text });

export const encodeTextPart = ({ text, logprobs, citations = [] }: ItemContent): object => ({
  type: 'output_text',
  text,
  annotations: citations.map(encodeAnnotation),
  logprobs: encodeOutputLogprobs(logprobs),
});

/** Encodes the citation of a sentence. Positions are code points, as clients of this interface count. */
export const encodeAnnotation = ({ source: { url, title }, start, end }: Citation): object => ({
  type: 'url_citation',
  start_index: start,
  end_index: end,
  url,
  title,
});

export const encodeOutputLogprobs = (logprobs: readonly TokenLogprob[]): readonly unknown[] =>
  encodeLogprobs(logprobs)?.content ?? [];
