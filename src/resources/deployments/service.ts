import type { Owner } from '../../core/context.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import { type Ids, systemIds } from '../../core/id.ts';
import { DEPLOYMENT_EVENTS_MAX, DEPLOYMENT_NAME_TRIES, DEPLOYMENTS_MAX } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery, type Every } from '../../lib/every.ts';
import type { Store, Tables } from '../../store/store.ts';
import type { JobBell } from '../jobs/job-bell.ts';
import { newJob } from '../jobs/new-job.ts';
import type { Change, ChangeDeployments } from './changes.ts';
import type { DeployableModels, DeploymentBell, DeploymentDraft, Deployments } from './deployment.ts';
import {
  BASE_CAPACITY,
  canBeNamed,
  checkSuffix,
  nameTaken,
  notThere,
  tellLimits,
  tellWanted,
  wantedOf,
} from './rules.ts';
import { nextStatus } from './states.ts';
import { watchDeployment } from './watch.ts';

export interface DeploymentsNeeds {
  readonly store: Store;
  readonly change: ChangeDeployments;
  readonly clock: Clock;
  readonly deployableModel: DeployableModels;
  /** Of one deployment. */
  readonly capacityMax: number;
  readonly bell: Pick<DeploymentBell, 'listen'>;
  /** Tells the worker of this process that a job is due. */
  readonly jobBell: Pick<JobBell, 'ring'>;
  readonly ids?: Ids;
  readonly every?: Every;
}

export function createDeployments(needs: DeploymentsNeeds): Deployments {
  const { store, change, clock, deployableModel, capacityMax, bell, jobBell } = needs;
  const { ids = systemIds, every = systemEvery } = needs;

  const find = async (owner: Owner, name: string): Promise<DeploymentRecord> =>
    (await store.deployments.find(owner, name)) ?? notThere(name);

  /** In the transaction that writes what is wanted: there is never one without the other. */
  const requeue = ({ jobs }: Tables, owner: Owner, { id, generation }: DeploymentRecord): Promise<void> =>
    jobs.requeue(newJob({ kind: 'deployment', subject: id, owner, payload: { generation } }, { ids, clock }));

  /** Decided by what the deployment is at that moment, and by nothing that was read before. */
  const changeOne = async (
    owner: Owner,
    name: string,
    wanted: 'scale' | 'throttle' | 'delete',
    work: (change: Change, before: DeploymentRecord) => Promise<DeploymentRecord | undefined>,
  ): Promise<DeploymentRecord> =>
    change(async (within) => {
      const before = await within.tables.deployments.find(owner, name);
      if (!before || nextStatus(before.status, wanted) === undefined) return notThere(name);
      return (await work(within, before)) ?? notThere(name);
    });

  return {
    find,

    async create(owner, draft) {
      const { modelName, plan, spec } = draft;
      if (spec.suffix !== undefined) checkSuffix(spec.suffix);
      const model = canBeNamed(modelName) ? deployableModel(modelName, owner.region) : undefined;
      if (!model) return notThere(modelName);
      const wanted = wantedOf(draft, { plan, baseCapacity: BASE_CAPACITY, capacityMax });
      const { region, workspace, keyId } = owner;
      const now = clock.now();
      const record: Omit<DeploymentRecord, 'name'> = {
        id: ids.sortable('dep_'),
        region,
        workspace,
        modelName,
        baseModel: model.baseModel,
        plan,
        baseCapacity: BASE_CAPACITY,
        ...wanted,
        readyCapacity: 0,
        rpmLimit: draft.rpmLimit,
        tpmLimit: draft.tpmLimit,
        status: 'pending',
        generation: 1,
        reached: 0,
        spec,
        creator: keyId,
        modifier: keyId,
        createdAt: now,
        modifiedAt: now,
      };
      const created = await change(async ({ tables, create }) => {
        checkCount(await tables.deployments.count(owner));
        for (const name of namesFor(draft, ids)) {
          const named = { ...record, name };
          if (!(await create(named, tellWanted(wanted)))) continue;
          await requeue(tables, owner, named);
          return named;
        }
        throw nameTaken(spec.suffix === undefined ? modelName : `${modelName}-${spec.suffix}`);
      });
      jobBell.ring('due');
      return created;
    },

    async list(owner, { status, limit, skip }) {
      const [total, deployments] = await Promise.all([
        store.deployments.count(owner, status),
        store.deployments.list(owner, { status, limit, skip }),
      ]);
      return { total, deployments };
    },

    async scale(owner, name, wish) {
      const scaled = await changeOne(owner, name, 'scale', async ({ tables, move }, before) => {
        const { keyId } = owner;
        const wanted = wantedOf(wish, { ...before, capacityMax });
        const reason = `${tellWanted(wanted)}, after ${tellWanted(before)}`;
        const generation = before.generation + 1;
        await requeue(tables, owner, { ...before, generation });
        return await move(before, { move: 'scale', reason, keyId, change: { ...wanted, generation, modifier: keyId } });
      });
      jobBell.ring('due');
      return scaled;
    },

    throttle: (owner, name, limits) =>
      changeOne(owner, name, 'throttle', ({ move }, before) => {
        const { keyId } = owner;
        const { rpmLimit, tpmLimit } = { ...before, ...limits };
        const reason = tellLimits({ rpmLimit, tpmLimit });
        return move(before, { move: 'throttle', reason, keyId, change: { rpmLimit, tpmLimit, modifier: keyId } });
      }),

    async delete(owner, name) {
      const deleted = await changeOne(owner, name, 'delete', async ({ tables, move }, before) => {
        const { keyId } = owner;
        const generation = before.status === 'deleting' ? before.generation : before.generation + 1;
        await requeue(tables, owner, { ...before, generation });
        if (before.status === 'deleting') return before;
        return await move(before, { move: 'delete', reason: '', keyId, change: { generation, modifier: keyId } });
      });
      jobBell.ring('due');
      return deleted;
    },

    async events(owner, name) {
      const { id } = await find(owner, name);
      return await store.deployments.listEvents(id, { after: 0, limit: DEPLOYMENT_EVENTS_MAX });
    },

    watch: (owner, name, signal) => watchDeployment({ store, bell, every }, () => find(owner, name), signal),
  };
}

function checkCount(count: number): void {
  if (count < DEPLOYMENTS_MAX) return;
  throw new ServiceError('count-quota', `There are ${count} deployments, and there can be ${DEPLOYMENTS_MAX}.`);
}

/** wire.md E8.1: with its suffix, or with 8 hexadecimal digits that nobody has yet. */
function namesFor({ modelName, spec: { suffix } }: DeploymentDraft, ids: Ids): readonly string[] {
  if (suffix !== undefined) return [`${modelName}-${suffix}`];
  return Array.from({ length: DEPLOYMENT_NAME_TRIES }, () => `${modelName}-${ids.sortable('').slice(-8)}`);
}
