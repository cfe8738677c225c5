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

const encode = (record: DeploymentRecord): DeploymentsTable => ({
  id: record.id,
  region: record.region,
  workspace: record.workspace,
  name: record.name,
  model_name: record.modelName,
  base_model: record.baseModel,
  plan: record.plan,
  base_capacity: record.baseCapacity,
  capacity: record.capacity,
  ready_capacity: record.readyCapacity,
  ptu: record.ptu ? JSON.stringify(record.ptu) : null,
  rpm_limit: record.rpmLimit ?? null,
  tpm_limit: record.tpmLimit ?? null,
  status: record.status,
  generation: record.generation,
  reached: record.appliedGeneration,
  spec: JSON.stringify(record.spec),
  creator: record.creator,
  modifier: record.modifier,
  created_at: record.createdAt,
  modified_at: record.modifiedAt,
  events: 0,
});

const decode = (row: Selectable<DeploymentsTable>): DeploymentRecord => ({
  id: row.id,
  region: row.region,
  workspace: row.workspace,
  name: row.name,
  modelName: row.model_name,
  baseModel: row.base_model,
  plan: row.plan,
  baseCapacity: row.base_capacity,
  capacity: row.capacity,
  readyCapacity: row.ready_capacity,
  ptu: row.ptu === null ? undefined : (JSON.parse(row.ptu) as PtuCapacity),
  rpmLimit: row.rpm_limit ?? undefined,
  tpmLimit: row.tpm_limit ?? undefined,
  status: row.status,
  generation: row.generation,
  appliedGeneration: row.reached,
  spec: JSON.parse(row.spec) as DeploymentSpec,
  creator: row.creator,
  modifier: row.modifier,
  createdAt: row.created_at,
  modifiedAt: row.modified_at,
});

const encodeEvent = (event: DeploymentEvent): DeploymentEventsTable => ({
  deployment: event.deployment,
  number: event.number,
  at: event.at,
  move: event.transition,
  from_status: event.from ?? null,
  to_status: event.to,
  reason: event.reason,
  key_id: event.keyId ?? null,
  generation: event.generation,
  capacity: event.capacity,
  ready_capacity: event.readyCapacity,
});

const decodeEvent = (row: Selectable<DeploymentEventsTable>): DeploymentEvent => ({
  deployment: row.deployment,
  number: row.number,
  at: row.at,
  transition: row.move as DeploymentTransition,
  from: row.from_status ?? undefined,
  to: row.to_status,
  reason: row.reason,
  keyId: row.key_id ?? undefined,
  generation: row.generation,
  capacity: row.capacity,
  readyCapacity: row.ready_capacity,
});
