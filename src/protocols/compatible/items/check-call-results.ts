import { createFieldError } from '../../parse.ts';
import type { WireItem } from './item-schema.ts';

/**
 * Checks that every function call output follows its call, in the history or in the request's input.
 *
 * @param items Input items as the client sent them.
 * @throws ServiceError `invalid-request` naming the output.
 */
export function checkCallResults(
  items: readonly WireItem[],
  { history, field }: { readonly history: readonly WireItem[]; readonly field: string },
): void {
  const callIds = new Set(history.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : [])));
  for (const [index, item] of items.entries()) {
    if (item.type === 'function_call') callIds.add(item.call_id);
    if (item.type !== 'function_call_output' || callIds.has(item.call_id)) continue;
    const rule = `No tool call found for function call output with call_id ${JSON.stringify(item.call_id.slice(0, ID_CHARS_SHOWN).toWellFormed())}`;
    throw createFieldError(`${field}[${index}].call_id`, rule);
  }
}

const ID_CHARS_SHOWN = 80;
