import type { Item } from '../../../core/item.ts';
import { createFieldError } from '../../parse.ts';
import { getReferencedItemId } from './item-schema.ts';

/**
 * Replaces the item references of a caller's list by the items they name. Other elements stay, and a value that is not
 * a list is returned unchanged.
 *
 * @param max Maximum number of items. A longer list is returned unchanged, because its length is rejected later.
 * @param find Returns the caller's items by id. Each id is passed as often as the list names it.
 * @throws ServiceError `invalid-request` naming the first reference to an unknown item.
 */
export async function resolveReferences(
  wire: unknown,
  {
    field,
    max,
    find,
  }: {
    readonly field: string;
    readonly max: number;
    find(ids: readonly string[]): Promise<ReadonlyMap<string, Item>>;
  },
): Promise<unknown> {
  if (!Array.isArray(wire) || wire.length > max) return wire;
  const list: readonly unknown[] = wire;
  const ids = list.flatMap((each) => getReferencedItemId(each) ?? []);
  if (ids.length === 0) return wire;
  const found = await find(ids);
  return list.map((each, index) => {
    const id = getReferencedItemId(each);
    if (id === undefined) return each;
    const item = found.get(id);
    if (!item)
      throw createFieldError(`${field}[${index}].id`, `Item with id '${id.slice(0, ID_CHARS_SHOWN)}' not found.`);
    return JSON.parse(item.json) as unknown;
  });
}

const ID_CHARS_SHOWN = 80;
