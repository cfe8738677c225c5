import type { Item } from '../../../core/item.ts';
import { assert } from '../../../lib/assert.ts';
import { AnyItem, type WireItem } from './item-schema.ts';

/** Parses a stored item. It was validated when it was created, so a failure is a bug. */
export function parseStoredItem({ json, id }: Item): WireItem {
  const parsed = AnyItem.safeParse(JSON.parse(json));
  assert(parsed.success, `the item ${id} is what was checked`);
  return parsed.data;
}
