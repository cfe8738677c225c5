import { refuse } from '../../parse.ts';
import type { WireItem } from './item-schema.ts';

/**
 * A result answers a call that stands before it, in what is there already or in what comes.
 *
 * @throws ServiceError `invalid-request` naming the result.
 */
export function checkResults(
  items: readonly WireItem[],
  { history, at }: { readonly history: readonly WireItem[]; readonly at: string },
): void {
  const called = new Set(history.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : [])));
  for (const [index, item] of items.entries()) {
    if (item.type === 'function_call') called.add(item.call_id);
    if (item.type !== 'function_call_output' || called.has(item.call_id)) continue;
    const rule = `No tool call found for function call output with call_id ${JSON.stringify(item.call_id.slice(0, ID_CHARS_SHOWN).toWellFormed())}`;
    throw refuse(`${at}[${index}].call_id`, rule);
  }
}

const ID_CHARS_SHOWN = 80;
