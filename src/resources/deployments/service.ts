import type { Owner } from '../../core/context.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import { type IdGenerator, systemIdGenerator } from '../../core/id.ts';
import { DEPLOYMENT_EVENTS_MAX, DEPLOYMENT_NAME_ATTEMPTS_MAX, DEPLOYMENTS_MAX } from '../limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { startInterval as startSystemInterval, type StartInterval } from '../../lib/start-interval.ts';
import type { Store, Tables } from '../../store/store.ts';
import type { JobNotifier } from '../jobs/job-notifier.ts';
import { createJob } from '../jobs/create-job.ts';
import type { DeploymentTransaction, RunDeploymentTransaction } from './deployment-transaction.ts';
import type { FindDeployableModel, DeploymentNotifier, DeploymentDraft, Deployments } from './deployment.ts';
import {
  CAPACITY_UNIT,
  isDeployableName,
  checkSuffix,
  createNameTakenError,
  throwModelNotFound,
  describeLimits,
  describeCapacity,
  parseTargetCapacity,
} from './rules.ts';
import { findNextStatus } from './states.ts';
import { watchDeployment } from './watch.ts';

export interface DeploymentsDeps {
  readonly store: Store;
  readonly transact: RunDeploymentTransaction;
  readonly clock: Clock;
  readonly findDeployableModel: FindDeployableModel;
  /** Limit for one deployment. */
  readonly capacityMax: number;
  readonly notifier: Pick<DeploymentNotifier, 'subscribe'>;
  /** Notifies this process's worker that a job is due. */
  readonly jobNotifier: Pick<JobNotifier, 'notify'>;
  readonly ids?: IdGenerator;
  readonly startInterval?: StartInterval;
}

export function createDeployments(deps: DeploymentsDeps): Deployments {
  const { store, transact, clock, findDeployableModel, capacityMax, notifier, jobNotifier } = deps;
  const { ids = systemIdGenerator, startInterval = startSystemInterval } = deps;

  const find = async (owner: Owner, name: string): Promise<DeploymentRecord> =>
    (await store.deployments.find(owner, name)) ?? throwModelNotFound(name);

  /** Enqueues the job that carries out a change, in the transaction that stores the change. */
  const requeue = ({ jobs }: Tables, owner: Owner, { id, generation }: DeploymentRecord): Promise<void> =>
    jobs.requeue(createJob({ kind: 'deployment', subject: id, owner, payload: { generation } }, { ids, clock }));

  /** Changes a deployment based on its state inside the transaction. */
  const changeDeployment = async (
    owner: Owner,
    name: string,
    transition: 'scale' | 'throttle' | 'delete',
    work: (transaction: DeploymentTransaction, before: DeploymentRecord) => Promise<DeploymentRecord | undefined>,
  ): Promise<DeploymentRecord> =>
    transact(async (transaction) => {
      const before = await transaction.tables.deployments.find(owner, name);
      if (!before || findNextStatus(before.status, transition) === undefined) return throwModelNotFound(name);
      return (await work(transaction, before)) ?? throwModelNotFound(name);
    });

  return {
    find,

    async create(owner, draft) {
      const { modelName, plan, spec } = draft;
      if (spec.suffix !== undefined) checkSuffix(spec.suffix);
      const model = isDeployableName(modelName) ? findDeployableModel(modelName, owner.region) : undefined;
      if (!model) return throwModelNotFound(modelName);
      const target = parseTargetCapacity(draft, { plan, baseCapacity: CAPACITY_UNIT, capacityMax });
      const { region, workspace, keyId } = owner;
      const now = clock.now();
      const record: Omit<DeploymentRecord, 'name'> = {
        id: ids.createSortableId('dep_'),
        region,
        workspace,
        modelName,
        baseModel: model.baseModel,
        plan,
        baseCapacity: CAPACITY_UNIT,
        ...target,
        readyCapacity: 0,
        rpmLimit: draft.rpmLimit,
        tpmLimit: draft.tpmLimit,
        status: 'pending',
        generation: 1,
        appliedGeneration: 0,
        spec,
        creator: keyId,
        modifier: keyId,
        createdAt: now,
        modifiedAt: now,
      };
      const created = await transact(async ({ tables, create }) => {
        checkCount(await tables.deployments.count(owner));
        for (const name of listCandidateNames(draft, ids)) {
          const withName = { ...record, name };
          if (!(await create(withName, describeCapacity(target)))) continue;
          await requeue(tables, owner, withName);
          return withName;
        }
        throw createNameTakenError(spec.suffix === undefined ? modelName : `${modelName}-${spec.suffix}`);
      });
      jobNotifier.notify('due');
      return created;
    },

    async list(owner, { status, limit, skip }) {
      const [total, deployments] = await Promise.all([
        store.deployments.count(owner, status),
        store.deployments.list(owner, { status, limit, skip }),
      ]);
      return { total, deployments };
    },

    async scale(owner, name, request) {
      const scaled = await changeDeployment(owner, name, 'scale', async ({ tables, applyTransition }, before) => {
        const { keyId } = owner;
        const target = parseTargetCapacity(request, { ...before, capacityMax });
        const reason = `${describeCapacity(target)}, after ${describeCapacity(before)}`;
        const generation = before.generation + 1;
        await requeue(tables, owner, { ...before, generation });
        return await applyTransition(before, {
          transition: 'scale',
          reason,
          keyId,
          changes: { ...target, generation, modifier: keyId },
        });
      });
      jobNotifier.notify('due');
      return scaled;
    },

    throttle: (owner, name, limits) =>
      changeDeployment(owner, name, 'throttle', ({ applyTransition }, before) => {
        const { keyId } = owner;
        const { rpmLimit, tpmLimit } = { ...before, ...limits };
        const reason = describeLimits({ rpmLimit, tpmLimit });
        return applyTransition(before, {
          transition: 'throttle',
          reason,
          keyId,
          changes: { rpmLimit, tpmLimit, modifier: keyId },
        });
      }),

    async delete(owner, name) {
      const deleted = await changeDeployment(owner, name, 'delete', async ({ tables, applyTransition }, before) => {
        const { keyId } = owner;
        const generation = before.status === 'deleting' ? before.generation : before.generation + 1;
        await requeue(tables, owner, { ...before, generation });
        if (before.status === 'deleting') return before;
        return await applyTransition(before, {
          transition: 'delete',
          reason: '',
          keyId,
          changes: { generation, modifier: keyId },
        });
      });
      jobNotifier.notify('due');
      return deleted;
    },

    async events(owner, name) {
      const { id } = await find(owner, name);
      return await store.deployments.listEvents(id, { after: 0, limit: DEPLOYMENT_EVENTS_MAX });
    },

    watch: (owner, name, signal) =>
      watchDeployment({ store, notifier, startInterval }, () => find(owner, name), signal),
  };
}

function checkCount(count: number): void {
  if (count < DEPLOYMENTS_MAX) return;
  throw new ServiceError(
    'count-quota',
    `The workspace has ${count} deployments; the limit is ${DEPLOYMENTS_MAX}. Delete one first.`,
  );
}

/**
 * Returns names to try: with the suffix, or with 8 random hexadecimal digits
 * (docs/wire/dashscope-native.md#deployments).
 */
function listCandidateNames({ modelName, spec: { suffix } }: DeploymentDraft, ids: IdGenerator): readonly string[] {
  if (suffix !== undefined) return [`${modelName}-${suffix}`];
  return Array.from(
    { length: DEPLOYMENT_NAME_ATTEMPTS_MAX },
    () => `${modelName}-${ids.createSortableId('').slice(-8)}`,
  );
}
