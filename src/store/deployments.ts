import type { Kysely, Selectable } from 'kysely';
import type {
  DeploymentEvent,
  DeploymentMove,
  DeploymentRecord,
  DeploymentSpec,
  DeploymentStatus,
  PtuCapacity,
} from '../core/deployment.ts';
import type { Place } from './conversations.ts';
import type { Run } from './run.ts';
import type { Database } from './schema/database.ts';
import type { DeploymentEventsTable, DeploymentsTable } from './schema/deployments.ts';

export interface DeploymentPage {
  readonly status?: DeploymentStatus | undefined;
  readonly limit: number;
  /** How many of the newest are passed over. */
  readonly skip: number;
}

/**
 * Deployments and what happened to them. Whatever writes is done in a transaction that calls `lock` first: what is read
 * after that stays so until it ends, so that a change is decided by what is, and written whole.
 */
export interface DeploymentStore {
  /** Until the transaction ends, nobody else changes a deployment. */
  lock(): Promise<void>;
  /** How many changes there have been: whoever holds a picture of all of them sees by it that it is an old one. */
  changes(): Promise<number>;
  /** False where the workspace has one of this name in the region. */
  insert(record: DeploymentRecord): Promise<boolean>;
  find(place: Place, name: string): Promise<DeploymentRecord | undefined>;
  findById(id: string): Promise<DeploymentRecord | undefined>;
  /** The newest first. */
  list(place: Place, page: DeploymentPage): Promise<readonly DeploymentRecord[]>;
  count(place: Place, status?: DeploymentStatus): Promise<number>;
  /** Everybody's, the oldest first. */
  listAll(): Promise<readonly DeploymentRecord[]>;
  /** All of it but what never changes: id, place, name, model, plan, specification and creator. */
  save(record: DeploymentRecord): Promise<void>;
  /** With its events. */
  remove(id: string): Promise<void>;
  /** The next event of a deployment that is there; of its events the newest `keep` stay. */
  addEvent(event: Omit<DeploymentEvent, 'number'>, options: { readonly keep: number }): Promise<DeploymentEvent>;
  /** Those with a greater number than `after`, in their order. */
  listEvents(id: string, page: { readonly after: number; readonly limit: number }): Promise<readonly DeploymentEvent[]>;
  /** Undefined where the deployment is not there. */
  lastEvent(id: string): Promise<DeploymentEvent | undefined>;
}

const SEQUENCE = 'deployments';

export function createDeploymentStore(db: Kysely<Database>, run: Run): DeploymentStore {
  const select = ({ region, workspace }: Place) =>
    db.selectFrom('deployments').where('region', '=', region).where('workspace', '=', workspace);
  const count = async (): Promise<void> => {
    await db
      .updateTable('sequences')
      .set(({ eb }) => ({ last: eb('last', '+', 1) }))
      .where('name', '=', SEQUENCE)
      .execute();
  };
  const events = (id: string) => db.selectFrom('deployment_events').selectAll().where('deployment', '=', id);

  return {
    lock: () =>
      run(async () => {
        await db
          .insertInto('sequences')
          .values({ name: SEQUENCE, last: 0 })
          // A change that changes nothing: Postgres locks the row for it, and SQLite has no other word for that.
          .onConflict((conflict) => conflict.column('name').doUpdateSet(({ ref }) => ({ last: ref('sequences.last') })))
          .execute();
      }),
    changes: () =>
      run(async () => {
        const row = await db.selectFrom('sequences').select('last').where('name', '=', SEQUENCE).executeTakeFirst();
        return row?.last ?? 0;
      }),
    insert: (record) =>
      run(async () => {
        await count();
        const row = await db
          .insertInto('deployments')
          .values(encode(record))
          .onConflict((conflict) => conflict.columns(['region', 'workspace', 'name']).doNothing())
          .returning('id')
          .executeTakeFirst();
        return row !== undefined;
      }),
    find: (place, name) =>
      run(async () => {
        const row = await select(place).selectAll().where('name', '=', name).executeTakeFirst();
        return row && decode(row);
      }),
    findById: (id) =>
      run(async () => {
        const row = await db.selectFrom('deployments').selectAll().where('id', '=', id).executeTakeFirst();
        return row && decode(row);
      }),
    list: (place, { status, limit, skip }) =>
      run(async () => {
        let query = select(place).selectAll().orderBy('id', 'desc').limit(limit).offset(skip);
        if (status !== undefined) query = query.where('status', '=', status);
        return (await query.execute()).map(decode);
      }),
    count: (place, status) =>
      run(async () => {
        let query = select(place).select(({ fn }) => fn.countAll().as('count'));
        if (status !== undefined) query = query.where('status', '=', status);
        // Some databases count in integers that a number need not hold; these are few.
        return Number((await query.executeTakeFirstOrThrow()).count);
      }),
    listAll: () =>
      run(async () => (await db.selectFrom('deployments').selectAll().orderBy('id').execute()).map(decode)),
    save: (record) =>
      run(async () => {
        const { capacity, ready_capacity, ptu, rpm_limit, tpm_limit, status, generation, reached, ...row } =
          encode(record);
        const { modifier, modified_at } = row;
        await count();
        await db
          .updateTable('deployments')
          .set({ capacity, ready_capacity, ptu, rpm_limit, tpm_limit, status, generation, reached })
          .set({ modifier, modified_at })
          .where('id', '=', record.id)
          .execute();
      }),
    remove: (id) =>
      run(async () => {
        await count();
        await db.deleteFrom('deployment_events').where('deployment', '=', id).execute();
        await db.deleteFrom('deployments').where('id', '=', id).execute();
      }),
    addEvent: (event, { keep }) =>
      run(async () => {
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
      }),
    listEvents: (id, { after, limit }) =>
      run(async () => {
        const rows = await events(id).where('number', '>', after).orderBy('number').limit(limit).execute();
        return rows.map(decodeEvent);
      }),
    lastEvent: (id) =>
      run(async () => {
        const row = await events(id).orderBy('number', 'desc').limit(1).executeTakeFirst();
        return row && decodeEvent(row);
      }),
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
  reached: record.reached,
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
  reached: row.reached,
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
  move: event.move,
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
  move: row.move as DeploymentMove,
  from: row.from_status ?? undefined,
  to: row.to_status,
  reason: row.reason,
  keyId: row.key_id ?? undefined,
  generation: row.generation,
  capacity: row.capacity,
  readyCapacity: row.ready_capacity,
});
