import { ServiceError } from '../../../core/error.ts';
import type { Turn } from '../../../resources/responses/response.ts';
import type { Asked } from './asked-turn.ts';

/**
 * Where a history has so many items that not all were read, nobody has counted their tokens, and it may only be gone on from
 * without them.
 * @throws ServiceError `context-exceeded`, unless `truncation` is auto.
 */
export function checkUnread(
  { history, olderItems }: Pick<Turn, 'history' | 'olderItems'>,
  { wire, entry }: Pick<Asked, 'wire' | 'entry'>,
): void {
  if (olderItems === 0 || wire.truncation === 'auto') return;
  throw new ServiceError(
    'context-exceeded',
    `Range of input length should be [1, ${entry.contextTokens - 1}] (the history has ${history.length + olderItems} items, which is more than any context holds; truncation: "auto" leaves the oldest out)`,
    { param: 'input' },
  );
}

/** How many items of the history the model is not told. */
export const droppedHeader = (items: number): Readonly<Record<string, string>> =>
  items > 0 ? { 'x-parley-dropped-items': String(items) } : {};
