import { z } from 'zod';
import type { Item, ItemPageQuery } from '../../../core/item.ts';
import { ITEM_PAGE_DEFAULT, ITEM_PAGE_MAX } from '../../../core/limits.ts';
import { createCountField, queryToObject } from '../../fields/list-query.ts';
import { parseBody } from '../../parse.ts';

const PageQuery = z.object({
  limit: createCountField(ITEM_PAGE_MAX).default(ITEM_PAGE_DEFAULT),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().optional(),
  // The included data is always part of the response.
  include: z.string().optional(),
  'include[]': z.string().optional(),
});

const QUERY_TEXTS = {
  limit: `Range of limit should be [1, ${ITEM_PAGE_MAX}]`,
  order: 'order must be one of asc, desc',
};

/**
 * Decodes the query of an item list (docs/wire/openai-compatible.md#conversations). `unknown` holds unknown field
 * names; a field without a value counts as not set.
 * @throws ServiceError `invalid-request`.
 */
export function decodeItemPageQuery(
  query: URLSearchParams,
  { strict }: { readonly strict?: boolean | undefined } = {},
): { readonly pageQuery: ItemPageQuery; readonly unknown: readonly string[] } {
  const { wire, unknown } = parseBody(PageQuery, queryToObject(query), { texts: QUERY_TEXTS, strict: strict ?? false });
  return { pageQuery: { limit: wire.limit, order: wire.order, after: wire.after }, unknown };
}

export const encodeItem = ({ json }: Item): unknown => JSON.parse(json);

/** Encodes a list of items; an empty list has null ids (docs/wire/openai-compatible.md#conversations). */
export const encodeItemList = (items: readonly Item[], { hasMore }: { readonly hasMore: boolean }): object => ({
  object: 'list',
  data: items.map(encodeItem),
  first_id: items[0]?.id ?? null,
  last_id: items.at(-1)?.id ?? null,
  has_more: hasMore,
});
