import type { ServiceError } from '../../../core/error.ts';
import type { Block, FinishReason } from '../../../core/event.ts';
import type { GenerationResult } from '../../../core/result.ts';
import { codeAndMessage } from '../errors.ts';
import type { ResponseHead } from './head.ts';
import { NOTHING, outputItem } from './output-item.ts';
import type { OutputItem, Said } from './output-item.ts';
import { SERVER_ITEM_TYPES, serverItem } from './server-item.ts';
import { encodeUsage } from './usage.ts';

export type ResponseObject = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly status: 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';
  readonly output: readonly OutputItem[];
};

/** The whole answer. @param completedAt Unix seconds. */
export function encode(head: ResponseHead, { choices, usage }: GenerationResult, completedAt: number): ResponseObject {
  const { blocks = [], reason = 'stop' } = choices[0] ?? {};
  const said = blocks.filter((block) => block.type === 'server-call' || saysSomething(block));
  const told = lacksAnswer(said, reason) ? [...said, EMPTY] : said;
  const output = told.map((block, index) =>
    block.type === 'server-call'
      ? serverItem(block.call, block.result, { head, index })
      : outputItem(block, block, { head, index }, index === told.length - 1 ? LAST_STATUS[reason] : 'completed'),
  );
  const isCut = reason === 'length';
  return tell(head, {
    status: isCut ? 'incomplete' : 'completed',
    output,
    usage: encodeUsage(usage),
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    completed_at: isCut ? null : completedAt,
  });
}

/** A thought or a text that stayed empty is none; a call is one by its name. */
export const saysSomething = (block: Block & Said): boolean =>
  block.type === 'tool-call' || block.text !== '' || block.logprobs.length > 0;

/** What is complete and neither says nor calls anything is a message all the same: agents take it for unfinished otherwise. */
export const lacksAnswer = (told: readonly { readonly type: string }[], reason: FinishReason): boolean =>
  reason !== 'length' &&
  told.every(({ type }) => type === 'reasoning' || type === 'server-call' || SERVER_ITEM_TYPES.has(type));

const EMPTY: Block & Said = { type: 'text', ...NOTHING };

/** What the last item is when the answer ended for this reason; those before it are complete. */
export const LAST_STATUS = {
  stop: 'completed',
  'tool-calls': 'completed',
  length: 'incomplete',
} as const satisfies Record<FinishReason, string>;

/** As it is told while nobody has begun with it. */
export const encodeQueued = (head: ResponseHead): ResponseObject => tell(head, { status: 'queued', output: [] });

/** As it is told when it has begun. */
export const encodeBegun = (head: ResponseHead): ResponseObject => tell(head, { status: 'in_progress', output: [] });

/** As it is told when it broke off, with the items that were complete. */
export const encodeFailed = (head: ResponseHead, error: ServiceError, output: readonly OutputItem[]): ResponseObject =>
  tell(head, { status: 'failed', output, error: codeAndMessage(error) });

interface Told {
  readonly status: ResponseObject['status'];
  readonly output: readonly OutputItem[];
  readonly usage?: object;
  readonly error?: object;
  readonly incomplete_details?: object | null;
  readonly completed_at?: number | null;
}

const tell = (
  { id, created, model, asked }: ResponseHead,
  { status, output, usage, error, incomplete_details, completed_at }: Told,
): ResponseObject => ({
  id,
  object: 'response',
  created_at: created,
  status,
  model,
  output,
  ...asked,
  usage: usage ?? null,
  error: error ?? null,
  incomplete_details: incomplete_details ?? null,
  completed_at: completed_at ?? null,
});
