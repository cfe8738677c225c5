import type { Kysely, Selectable } from 'kysely';
import type {
  DeploymentEvent,
  DeploymentTransition,
  DeploymentRecord,
  DeploymentSpec,
  DeploymentStatus,
  PtuCapacity,
} from '../core/deployment.ts';
import type { TenantScope } from './tenant-scope.ts';
import { findById, ownedBy } from './owned-by.ts';
import { hasRow, readCount } from './row-queries.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import type { Database } from './schema/database.ts';
import type { DeploymentEventsTable, DeploymentsTable } from './schema/deployments.ts';

export interface DeploymentListQuery {
  readonly status?: DeploymentStatus | undefined;
  readonly limit: number;
  /** Number of newest deployments to skip. */
  readonly skip: number;
}

/**
 * Deployments and their events. Every write happens in a transaction that calls `lock` first: what the transaction
 * reads after that stays unchanged until its end, so that changes are decided on current data.
 */
export interface DeploymentStore {
  /** Keeps all deployments from changing until the transaction ends. */
  lock(): Promise<void>;
  /** Returns the number of changes so far. A different number tells a reader that its copy is outdated. */
  countChanges(): Promise<number>;
  /** Returns false if the tenant has a deployment of this name. */
  insert(record: DeploymentRecord): Promise<boolean>;
  find(scope: TenantScope, name: string): Promise<DeploymentRecord | undefined>;
  findById(id: string): Promise<DeploymentRecord | undefined>;
  /** Lists deployments, newest first. */
  list(scope: TenantScope, page: DeploymentListQuery): Promise<readonly DeploymentRecord[]>;
  count(scope: TenantScope, status?: DeploymentStatus): Promise<number>;
  /** Lists deployments of all tenants, oldest first. */
  listAll(): Promise<readonly DeploymentRecord[]>;
  /** Saves all fields except the immutable ones: ID, tenant, name, model, plan, specification and creator. */
  save(record: DeploymentRecord): Promise<void>;
  /** Removes the deployment and its events. */
  remove(id: string): Promise<void>;
  /** Adds the next event of an existing deployment and removes all but the newest `keep` events. */
  addEvent(event: Omit<DeploymentEvent, 'number'>, options: { readonly keep: number }): Promise<DeploymentEvent>;
  /** Lists events with numbers above `after`, in order. */
  listEvents(id: string, page: { readonly after: number; readonly limit: number }): Promise<readonly DeploymentEvent[]>;
  /** Returns undefined if the deployment does not exist. */
  findLastEvent(id: string): Promise<DeploymentEvent | undefined>;
}

const SEQUENCE = 'deployments';

export function createDeploymentStore(db: Kysely<Database>): DeploymentStore {
  const select = (scope: TenantScope) => db.selectFrom('deployments').where(ownedBy(scope));
  const recordChange = async (): Promise<void> => {
    await db
      .updateTable('sequences')
      .set(({ eb }) => ({ last: eb('last', '+', 1) }))
      .where('name', '=', SEQUENCE)
      .execute();
  };
  const selectEvents = (id: string) => db.selectFrom('deployment_events').selectAll().where('deployment', '=', id);

  return {
    async lock() {
      await db
        .insertInto('sequences')
        .values({ name: SEQUENCE, last: 0 })
        // A no-op update locks the row on Postgres; SQLite has no SELECT … FOR UPDATE.
        .onConflict((conflict) => conflict.column('name').doUpdateSet(({ ref }) => ({ last: ref('sequences.last') })))
        .execute();
    },
    async countChanges() {
      const row = await db.selectFrom('sequences').select('last').where('name', '=', SEQUENCE).executeTakeFirst();
      return row?.last ?? 0;
    },
    async insert(record) {
      await recordChange();
      return hasRow(
        db
          .insertInto('deployments')
          .values(encode(record))
          .onConflict((conflict) => conflict.columns(['region', 'workspace', 'name']).doNothing())
          .returning('id'),
      );
    },
    async find(scope, name) {
      const row = await select(scope).selectAll().where('name', '=', name).executeTakeFirst();
      return row && decode(row);
    },
    async findById(id) {
      const row = await findById(db, 'deployments', id);
      return row && decode(row);
    },
    async list(scope, { status, limit, skip }) {
      let query = select(scope).selectAll().orderBy('id', 'desc').limit(limit).offset(skip);
      if (status !== undefined) query = query.where('status', '=', status);
      return (await query.execute()).map(decode);
    },
    async count(scope, status) {
      let query = select(scope).select(({ fn }) => fn.countAll().as('count'));
      if (status !== undefined) query = query.where('status', '=', status);
      // Some databases return counts as strings or bigints; the number of deployments is small.
      return readCount(query);
    },
    listAll: async () => (await db.selectFrom('deployments').selectAll().orderBy('id').execute()).map(decode),
    async save(record) {
      const { capacity, ready_capacity, ptu, rpm_limit, tpm_limit, status, generation, reached, ...row } =
        encode(record);
      const { modifier, modified_at } = row;
      await recordChange();
      await db
        .updateTable('deployments')
        .set({ capacity, ready_capacity, ptu, rpm_limit, tpm_limit, status, generation, reached })
        .set({ modifier, modified_at })
        .where('id', '=', record.id)
        .execute();
    },
    async remove(id) {
      await recordChange();
      await db.deleteFrom('deployment_events').where('deployment', '=', id).execute();
      await db.deleteFrom('deployments').where('id', '=', id).execute();
    },
    async addEvent(event, { keep }) {
      const { events: number } = await db
        .updateTable('deployments')
        .set(({ eb }) => ({ events: eb('events', '+', 1) }))
        .where('id', '=', event.deployment)
        .returning('events')
        .executeTakeFirstOrThrow();
      const numbered = { ...event, number };
      await db.insertInto('deployment_events').values(encodeEvent(numbered)).execute();
      await db
        .deleteFrom('deployment_events')
        .where('deployment', '=', event.deployment)
        .where('number', '<=', number - keep)
        .execute();
      return numbered;
    },
    async listEvents(id, { after, limit }) {
      const rows = await selectEvents(id).where('number', '>', after).orderBy('number').limit(limit).execute();
      return rows.map(decodeEvent);
    },
    async findLastEvent(id) {
      const row = await selectEvents(id).orderBy('number', 'desc').limit(1).executeTakeFirst();
      return row && decodeEvent(row);
    },
  };
}

const encode = ({ ptu, appliedGeneration, spec, ...record }: DeploymentRecord): DeploymentsTable => ({
  ...encodeRow(record),
  ptu: ptu ? JSON.stringify(ptu) : null,
  reached: appliedGeneration,
  spec: JSON.stringify(spec),
  events: 0,
});

const decode = ({ ptu, reached, spec, events: _events, ...row }: Selectable<DeploymentsTable>): DeploymentRecord => ({
  ...decodeRow(row),
  ptu: ptu === null ? undefined : (JSON.parse(ptu) as PtuCapacity),
  appliedGeneration: reached,
  spec: JSON.parse(spec) as DeploymentSpec,
});

const encodeEvent = ({ transition, from, to, ...event }: DeploymentEvent): DeploymentEventsTable => ({
  ...encodeRow(event),
  move: transition,
  from_status: from ?? null,
  to_status: to,
});

const decodeEvent = ({
  move,
  from_status: from,
  to_status: to,
  ...row
}: Selectable<DeploymentEventsTable>): DeploymentEvent => ({
  ...decodeRow({ ...row, from, to }),
  transition: move as DeploymentTransition,
});
