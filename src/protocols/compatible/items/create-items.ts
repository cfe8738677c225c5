import { z } from 'zod';
import type { IdGenerator } from '../../../core/id.ts';
import type { Item } from '../../../core/item.ts';
import { ServiceError } from '../../../core/error.ts';
import { failFastArray } from '../../fail-fast-array.ts';
import { ITEMS_PER_STEP } from '../../limits.ts';
import { parseValue, createFieldError, type RuleTexts } from '../../parse.ts';
import { getItemPrefix } from './item-prefixes.ts';
import { checkFile } from './file-part.ts';
import { AnyItem, MessageOnly, type WireContent, type WireItem } from './item-schema.ts';
import { isRecord } from '../../../lib/is-record.ts';
import { mapInSteps } from '../../../lib/map-in-steps.ts';

export interface CreateItemsOptions {
  readonly ids: Pick<IdGenerator, 'createSortableId'>;
  /** Name of the field that contains the list, for errors. */
  readonly field: string;
  /** `messages`: only messages, for creating a conversation. `all`: every item type the responses interface accepts. */
  readonly kinds: 'messages' | 'all';
  /** Maximum number of items; more get 400. */
  readonly max: number;
  /** Positions of the items that are created, the last one excluded. Default: all. */
  readonly range?: { readonly from: number; readonly to: number };
}

/** Creates items like `createItems`, and leaves the event loop to others between steps of a long list. */
export async function createItemsInSteps(wire: unknown, options: CreateItemsOptions): Promise<readonly Item[]> {
  const count = Array.isArray(wire) ? wire.length : 0;
  const starts = Array.from(
    { length: Math.max(1, Math.ceil(count / ITEMS_PER_STEP)) },
    (_, step) => step * ITEMS_PER_STEP,
  );
  const steps = await mapInSteps(starts, 1, (from) =>
    createItems(wire, { ...options, range: { from, to: from + ITEMS_PER_STEP } }),
  );
  return steps.flat();
}

/**
 * Creates items from a caller's list. Each gets a new id, also if the caller sent one, and string content becomes a
 * list of one part. Everything else is kept as sent.
 *
 * @throws ServiceError `invalid-request` naming the field; `unsupported` for parts that no model accepts.
 */
export function createItems(
  wire: unknown,
  { ids, field, kinds, max, range = { from: 0, to: max } }: CreateItemsOptions,
): readonly Item[] {
  const given: unknown[] = Array.isArray(wire) ? wire : [];
  return parseItems(wire, { field, kinds, max, range }).map((item, index) => {
    const sent = given[range.from + index];
    return createItem(isRecord(sent) ? sent : {}, item, ids);
  });
}

function parseItems(
  wire: unknown,
  { field, kinds, max, range }: Pick<Required<CreateItemsOptions>, 'field' | 'kinds' | 'max' | 'range'>,
): readonly WireItem[] {
  const list = failFastArray(kinds === 'messages' ? MessageOnly : AnyItem, { max, ...range });
  const body = parseValue(z.object({ [field]: list }), { [field]: wire }, { texts: createTexts(field, kinds) });
  const items = body[field] ?? [];
  for (const [index, item] of items.entries()) checkItem(item, `${field}[${range.from + index}]`);
  return items;
}

const createTexts = (at: string, kinds: CreateItemsOptions['kinds']): RuleTexts => ({
  [`${at}[].role`]: 'Role must be one of user, assistant, system, developer',
  ...(kinds === 'messages' ? { [`${at}[].type`]: 'type must be message' } : {}),
});

function checkItem(item: WireItem, path: string): void {
  switch (item.type) {
    case 'message':
      return checkContent(item.content, `${path}.content`);
    case 'function_call_output':
      return checkContent(item.output, `${path}.output`);
    case 'item_reference':
      throw createFieldError(path, 'item_reference is not allowed here');
    case 'function_call':
    case 'reasoning':
    case 'server_call':
    case 'compaction':
    case 'other':
  }
}

function checkContent(content: WireContent, path: string): void {
  if (typeof content === 'string') return;
  for (const [index, part] of content.entries()) {
    const partPath = `${path}[${index}]`;
    switch (part.type) {
      case 'input_file':
        checkFile(part, partPath);
        break;
      case 'input_audio':
      case 'output_audio':
      case 'computer_screenshot': {
        const param = `${partPath}.type`;
        throw new ServiceError('unsupported', `${part.type} is not supported (${param})`, { param });
      }
      case 'input_image':
      case 'input_text':
      case 'output_text':
      case 'text':
      case 'summary_text':
      case 'reasoning_text':
      case 'refusal':
    }
  }
}

/** Creates an item. Own keys are copied, so `__proto__` is handled like any other key. */
function createItem(sent: Record<string, unknown>, item: WireItem, ids: Pick<IdGenerator, 'createSortableId'>): Item {
  const type = 'wireType' in item ? item.wireType : item.type;
  const id = ids.createSortableId(getItemPrefix(type));
  const generated = { type, id, ...encodeStatus(sent, item) };
  const rest = Object.fromEntries(Object.entries(sent).filter(([name]) => !Object.hasOwn(generated, name)));
  const content = item.type === 'message' ? { content: contentToParts(item.role, sent['content']) } : {};
  return { id, json: JSON.stringify({ ...generated, ...rest, ...content }) };
}

/** Adds the status that clients expect on messages, calls and results when they read a history back. */
const encodeStatus = ({ status }: Record<string, unknown>, { type }: WireItem): { readonly status?: unknown } =>
  type === 'message' || type === 'function_call' || type === 'function_call_output'
    ? { status: status ?? 'completed' }
    : {};

const contentToParts = (role: string, content: unknown): unknown => {
  if (typeof content !== 'string') return content;
  return role === 'assistant'
    ? [{ type: 'output_text', text: content, annotations: [] }]
    : [{ type: 'input_text', text: content }];
};
