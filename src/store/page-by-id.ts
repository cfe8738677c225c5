import { expressionBuilder, type SelectQueryBuilder } from 'kysely';
import type { TenantScope } from './tenant-scope.ts';
import type { Database } from './schema/database.ts';

/** Filters and page of a list of all tenants in the order of IDs. Undefined fields do not filter. */
export interface IdPageQuery {
  readonly region?: TenantScope['region'] | undefined;
  readonly workspace?: string | undefined;
  /** ID of the last row of the previous page. */
  readonly after?: string | undefined;
  readonly limit: number;
}

const rows = expressionBuilder<{ rows: TenantScope & { readonly id: string } }, 'rows'>();

/** Narrows a query to a page of rows, in the order of their IDs. */
export function pageById<T extends keyof Database, Row>(
  query: SelectQueryBuilder<Database, T, Row>,
  { region, workspace, after, limit }: IdPageQuery,
): SelectQueryBuilder<Database, T, Row> {
  let page = query.orderBy(rows.ref('id')).limit(limit);
  if (region !== undefined) page = page.where(rows('region', '=', region));
  if (workspace !== undefined) page = page.where(rows('workspace', '=', workspace));
  if (after !== undefined) page = page.where(rows('id', '>', after));
  return page;
}
