import { type Expression, expressionBuilder, type Kysely, type Selectable, type SqlBool } from 'kysely';
import type { TenantScope } from './tenant-scope.ts';
import { hasRow } from './row-queries.ts';
import type { Database } from './schema/database.ts';

/** Tables whose rows have an ID and belong to a tenant. */
type OwnedTable = 'background_runs' | 'batches' | 'conversations' | 'responses' | 'tasks' | 'uploads' | 'vocabularies';
/** As above, and tables whose rows have an ID only. */
type IdentifiedTable = OwnedTable | 'deployments' | 'jobs' | 'keys' | 'research_runs';

const owned = expressionBuilder<{ owned: TenantScope }, 'owned'>();

/** Builds the condition that a row belongs to the tenant. */
export const ownedBy = ({ region, workspace }: TenantScope): Expression<SqlBool> =>
  owned.and([owned('region', '=', region), owned('workspace', '=', workspace)]);

/** Finds a row of the tenant by its ID. */
export async function findOwned<T extends OwnedTable>(
  db: Kysely<Database>,
  table: T,
  scope: TenantScope,
  id: string,
): Promise<Selectable<Database[T]> | undefined> {
  const query = db.selectFrom<OwnedTable>(table).selectAll().where('id', '=', id).where(ownedBy(scope));
  // Kysely cannot infer the columns of a table that is a type parameter.
  return (await query.executeTakeFirst()) as Selectable<Database[T]> | undefined;
}

/** Finds a row of any tenant by its ID. */
export async function findById<T extends IdentifiedTable>(
  db: Kysely<Database>,
  table: T,
  id: string,
): Promise<Selectable<Database[T]> | undefined> {
  const query = db.selectFrom<IdentifiedTable>(table).selectAll().where('id', '=', id);
  return (await query.executeTakeFirst()) as Selectable<Database[T]> | undefined;
}

/** Removes a row of the tenant. @returns whether it existed. */
export async function removeOwned(
  db: Kysely<Database>,
  table: OwnedTable,
  scope: TenantScope,
  id: string,
): Promise<boolean> {
  const query = db.deleteFrom<OwnedTable>(table).where('id', '=', id).where(ownedBy(scope)).returning('id');
  return hasRow(query);
}
