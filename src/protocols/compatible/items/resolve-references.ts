import type { Item } from '../../../core/item.ts';
import { refuse } from '../../parse.ts';
import { referredTo } from './item-schema.ts';

/**
 * A caller's list with what is referred to in the place of each reference. Anything else, also what is no list, stays.
 *
 * @param max Items at most: a longer list is refused for its length, and not looked into before.
 * @param find Items of the caller's by their ids, each as often as it is referred to.
 * @throws ServiceError `invalid-request` naming the first reference to what is not there.
 */
export async function resolveReferences(
  wire: unknown,
  {
    at,
    max,
    find,
  }: {
    readonly at: string;
    readonly max: number;
    find(ids: readonly string[]): Promise<ReadonlyMap<string, Item>>;
  },
): Promise<unknown> {
  if (!Array.isArray(wire) || wire.length > max) return wire;
  const list: readonly unknown[] = wire;
  const ids = list.flatMap((each) => referredTo(each) ?? []);
  if (ids.length === 0) return wire;
  const found = await find(ids);
  return list.map((each, index) => {
    const id = referredTo(each);
    if (id === undefined) return each;
    const item = found.get(id);
    if (!item) throw refuse(`${at}[${index}].id`, `Item with id '${id.slice(0, ID_CHARS_SHOWN)}' not found.`);
    return JSON.parse(item.json) as unknown;
  });
}

const ID_CHARS_SHOWN = 80;
