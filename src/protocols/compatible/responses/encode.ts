import type { ServiceError } from '../../../core/error.ts';
import type { Block, FinishReason } from '../../../core/event.ts';
import type { GenerationResult } from '../../../core/result.ts';
import { encodeCodeAndMessage } from '../errors.ts';
import type { ResponseHead } from './head.ts';
import { EMPTY_CONTENT, encodeOutputItem, type OutputItem, type ItemContent } from './output-item.ts';
import { SERVER_ITEM_TYPES, encodeServerItem } from './server-item.ts';
import { encodeUsage } from './usage.ts';

export type ResponseObject = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';
  readonly output: readonly OutputItem[];
};

/** Encodes the finished response. @param completedAt Unix seconds. */
export function encodeResponse(
  head: ResponseHead,
  { choices, usage }: GenerationResult,
  completedAt: number,
): ResponseObject {
  const { blocks = [], reason = 'stop' } = choices[0] ?? {};
  const nonEmptyBlocks = blocks.filter((block) => block.type === 'server-call' || hasContent(block));
  const outputBlocks = needsEmptyMessage(nonEmptyBlocks, reason)
    ? [...nonEmptyBlocks, EMPTY_TEXT_BLOCK]
    : nonEmptyBlocks;
  const output = outputBlocks.map((block, index) =>
    block.type === 'server-call'
      ? encodeServerItem(block.call, block.result, { head, index })
      : encodeOutputItem(
          block,
          block,
          { head, index },
          index === outputBlocks.length - 1 ? LAST_ITEM_STATUS[reason] : 'completed',
        ),
  );
  const isCut = reason === 'length';
  return encodeResponseObject(head, {
    status: isCut ? 'incomplete' : 'completed',
    output,
    usage: encodeUsage(usage),
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    completed_at: isCut ? null : completedAt,
  });
}

/** Tells whether a block becomes an output item: empty text or reasoning does not, a tool call always does. */
export const hasContent = (block: Block & ItemContent): boolean =>
  block.type === 'tool-call' || block.text !== '' || block.logprobs.length > 0;

/**
 * Tells whether a complete response has neither text nor calls. It gets an empty message then, because agents take a
 * response without one for unfinished.
 */
export const needsEmptyMessage = (items: readonly { readonly type: string }[], reason: FinishReason): boolean =>
  reason !== 'length' &&
  items.every(({ type }) => type === 'reasoning' || type === 'server-call' || SERVER_ITEM_TYPES.has(type));

const EMPTY_TEXT_BLOCK: Block & ItemContent = { type: 'text', ...EMPTY_CONTENT };

/** Status of the last item by finish reason; all earlier items are complete. */
export const LAST_ITEM_STATUS = {
  stop: 'completed',
  'tool-calls': 'completed',
  length: 'incomplete',
} as const satisfies Record<FinishReason, string>;

/** Encodes a queued response. */
export const encodeQueued = (head: ResponseHead): ResponseObject =>
  encodeResponseObject(head, { status: 'queued', output: [] });

/** Encodes a response that has started. */
export const encodeInProgress = (head: ResponseHead): ResponseObject =>
  encodeResponseObject(head, { status: 'in_progress', output: [] });

/** Encodes a failed response with the items that were complete. */
export const encodeFailed = (head: ResponseHead, error: ServiceError, output: readonly OutputItem[]): ResponseObject =>
  encodeResponseObject(head, { status: 'failed', output, error: encodeCodeAndMessage(error) });

interface ResponseState {
  readonly status: ResponseObject['status'];
  readonly output: readonly OutputItem[];
  readonly usage?: object;
  readonly error?: object;
  readonly incomplete_details?: object | null;
  readonly completed_at?: number | null;
}

const encodeResponseObject = (
  { id, created, model, requestFields }: ResponseHead,
  { status, output, usage, error, incomplete_details, completed_at }: ResponseState,
): ResponseObject => ({
  id,
  object: 'response',
  created_at: created,
  status,
  model,
  output,
  ...requestFields,
  usage: usage ?? null,
  error: error ?? null,
  incomplete_details: incomplete_details ?? null,
  completed_at: completed_at ?? null,
});
