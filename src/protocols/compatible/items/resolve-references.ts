import type { Item } from '../../../core/item.ts';
import { isPlainObject, refuse } from '../../parse.ts';

/**
 * A caller's list with what is referred to in the place of each reference. Anything else, also what is no list, stays.
 *
 * @param find Items of the caller's by their ids.
 * @throws ServiceError `invalid-request` naming the first reference to what is not there.
 */
export async function resolveReferences(
  wire: unknown,
  { at, find }: { readonly at: string; find(ids: readonly string[]): Promise<ReadonlyMap<string, Item>> },
): Promise<unknown> {
  if (!Array.isArray(wire)) return wire;
  const list: readonly unknown[] = wire;
  const ids = list.flatMap((each) => referredTo(each) ?? []);
  if (ids.length === 0) return wire;
  const found = await find([...new Set(ids)]);
  return list.map((each, index) => {
    const id = referredTo(each);
    if (id === undefined) return each;
    const item = found.get(id);
    if (!item) throw refuse(`${at}[${index}].id`, `Item with id '${id.slice(0, ID_CHARS_SHOWN)}' not found.`);
    return JSON.parse(item.json) as unknown;
  });
}

const ID_CHARS_SHOWN = 80;

/** Clients may leave out the type of what has nothing but an id. */
function referredTo(item: unknown): string | undefined {
  if (!isPlainObject(item) || typeof item['id'] !== 'string' || item['id'] === '') return undefined;
  const { type, id } = item;
  if (type === 'item_reference') return id;
  const isBare = (type === undefined || type === null) && !('role' in item) && !('content' in item);
  return isBare ? id : undefined;
}
