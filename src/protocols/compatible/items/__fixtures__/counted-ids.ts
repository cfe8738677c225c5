import type { Ids } from '../../../../core/id.ts';

/** Ids that count: `msg_1`, `fc_2`. */
export function countedIds(): Pick<Ids, 'sortable'> {
  let count = 0;
  return { sortable: (prefix) => `${prefix}${++count}` };
}
