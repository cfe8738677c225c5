import { z } from 'zod';
import type { Ids } from '../../../core/id.ts';
import type { Item } from '../../../core/item.ts';
import { ServiceError } from '../../../core/error.ts';
import { listOf } from '../../list-of.ts';
import { isPlainObject, parse, refuse } from '../../parse.ts';
import type { RuleTexts } from '../../parse.ts';
import { itemPrefix } from './item-prefixes.ts';
import { checkFile } from './file-part.ts';
import { AnyItem, MessageOnly } from './item-schema.ts';
import type { WireContent, WireItem } from './item-schema.ts';

export interface ItemsOptions {
  readonly ids: Pick<Ids, 'sortable'>;
  /** The field that the list stands in; refusals name it. */
  readonly at: string;
  /** `messages`: what a conversation may be created with. `all`: what the responses interface takes as input. */
  readonly kinds: 'messages' | 'all';
  /** Items at most. Beyond: 400. */
  readonly max: number;
}

/**
 * A caller's list as items of ours: each with a fresh id, also where one was sent, and a string content as the one part
 * that it is. Everything else stays as it was sent.
 *
 * @throws ServiceError `invalid-request` naming the field; `unsupported` for parts that no model here takes.
 */
export function itemsOf(wire: unknown, { ids, at, kinds, max }: ItemsOptions): readonly Item[] {
  const given: unknown[] = Array.isArray(wire) ? wire : [];
  return checkedItems(wire, { at, kinds, max }).map((item, index) => {
    const sent = given[index];
    return withId(isPlainObject(sent) ? sent : {}, item, ids);
  });
}

function checkedItems(
  wire: unknown,
  { at, kinds, max }: Pick<ItemsOptions, 'at' | 'kinds' | 'max'>,
): readonly WireItem[] {
  const list = listOf(kinds === 'messages' ? MessageOnly : AnyItem, { max });
  const body = parse(z.object({ [at]: list }), { [at]: wire }, { texts: textsOf(at, kinds) });
  const items = body[at] ?? [];
  for (const [index, item] of items.entries()) checkItem(item, `${at}[${index}]`);
  return items;
}

const textsOf = (at: string, kinds: ItemsOptions['kinds']): RuleTexts => ({
  [`${at}[].role`]: 'Role must be one of user, assistant, system, developer',
  ...(kinds === 'messages' ? { [`${at}[].type`]: 'type must be message' } : {}),
});

function checkItem(item: WireItem, at: string): void {
  switch (item.type) {
    case 'message':
      return checkContent(item.content, `${at}.content`);
    case 'function_call_output':
      return checkContent(item.output, `${at}.output`);
    case 'item_reference':
      throw refuse(at, 'item_reference is not allowed here');
    case 'function_call':
    case 'reasoning':
    case 'server_call':
    case 'other':
  }
}

function checkContent(content: WireContent, at: string): void {
  if (typeof content === 'string') return;
  for (const [index, part] of content.entries()) {
    const place = `${at}[${index}]`;
    switch (part.type) {
      case 'input_file':
        checkFile(part, place);
        break;
      case 'input_audio':
      case 'output_audio':
      case 'computer_screenshot': {
        const param = `${place}.type`;
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

/** Own keys are copied as they are, so `__proto__` is one like any other. */
function withId(sent: Record<string, unknown>, item: WireItem, ids: Pick<Ids, 'sortable'>): Item {
  const type = item.type === 'other' || item.type === 'server_call' ? item.of : item.type;
  const id = ids.sortable(itemPrefix(type));
  const own = { type, id, ...stated(sent, item) };
  const rest = Object.fromEntries(Object.entries(sent).filter(([name]) => !Object.hasOwn(own, name)));
  const content = item.type === 'message' ? { content: partsOf(item.role, sent['content']) } : {};
  return { id, json: JSON.stringify({ ...own, ...rest, ...content }) };
}

/** Clients that read a history back expect a status of these. */
const stated = ({ status }: Record<string, unknown>, { type }: WireItem): { readonly status?: unknown } =>
  type === 'message' || type === 'function_call' || type === 'function_call_output'
    ? { status: status ?? 'completed' }
    : {};

const partsOf = (role: string, content: unknown): unknown => {
  if (typeof content !== 'string') return content;
  return role === 'assistant'
    ? [{ type: 'output_text', text: content, annotations: [] }]
    : [{ type: 'input_text', text: content }];
};
