import { z } from 'zod';
import type { Item, ItemPageWish } from '../../../core/item.ts';
import { ITEM_PAGE_DEFAULT, ITEM_PAGE_MAX } from '../../../core/limits.ts';
import { countField } from '../../fields/list-query.ts';
import { parseBody } from '../../parse.ts';

const PageQuery = z.object({
  limit: countField(ITEM_PAGE_MAX).default(ITEM_PAGE_DEFAULT),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().optional(),
  // What it asks for is told in any case.
  include: z.string().optional(),
  'include[]': z.string().optional(),
});

const TEXTS = {
  limit: `Range of limit should be [1, ${ITEM_PAGE_MAX}]`,
  order: 'order must be one of asc, desc',
};

/**
 * Which page of a list of items a query asks for (wire.md E6.1), and the names in it that nobody knows. A field without
 * a value is one that was not set.
 * @throws ServiceError `invalid-request`.
 */
export function itemPageOf(
  query: URLSearchParams,
  { strict }: { readonly strict?: boolean | undefined } = {},
): { readonly wish: ItemPageWish; readonly unknown: readonly string[] } {
  const fields = Object.fromEntries([...query].filter(([, value]) => value !== ''));
  const { wire, unknown } = parseBody(PageQuery, fields, { texts: TEXTS, strict: strict ?? false });
  return { wish: { limit: wire.limit, order: wire.order, after: wire.after }, unknown };
}

export const encodeItem = ({ json }: Item): unknown => JSON.parse(json);

/** wire.md E6.1: the list object of items. An empty one has no ids to begin and end with. */
export const encodeItemList = (items: readonly Item[], { hasMore }: { readonly hasMore: boolean }): object => ({
  object: 'list',
  data: items.map(encodeItem),
  first_id: items[0]?.id ?? null,
  last_id: items.at(-1)?.id ?? null,
  has_more: hasMore,
});
