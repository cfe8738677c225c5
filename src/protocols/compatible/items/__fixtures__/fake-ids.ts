import type { IdGenerator } from '../../../../core/id.ts';

/** Creates ids that count up: `msg_1`, `fc_2`. */
export function createCountingIds(): Pick<IdGenerator, 'createSortableId'> {
  let count = 0;
  return { createSortableId: (prefix) => `${prefix}${++count}` };
}
