import type { Item } from '../../../core/item.ts';
import { assert } from '../../../lib/assert.ts';
import { AnyItem } from './item-schema.ts';
import type { WireItem } from './item-schema.ts';

/** What an item of ours says. It was checked when it became one. */
export function readItem({ json, id }: Item): WireItem {
  const parsed = AnyItem.safeParse(JSON.parse(json));
  assert(parsed.success, `the item ${id} is what was checked`);
  return parsed.data;
}
