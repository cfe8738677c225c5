import type { DeploymentRecord } from '../../core/deployment.ts';
import { assert } from '../../lib/assert.ts';
import type { DeploymentStore } from '../../store/deployments.ts';
import type { Store } from '../../store/store.ts';
import type { DeploymentTransaction, RunDeploymentTransaction } from './deployment-transaction.ts';
import type { DeploymentLifecycle } from './deployment.ts';
import { cleanReason } from './rules.ts';
import { findNextStatus } from './states.ts';

export interface DeploymentLifecycleDeps {
  readonly store: Pick<Store, 'deployments'>;
  readonly transact: RunDeploymentTransaction;
}

export function createDeploymentLifecycle({ store, transact }: DeploymentLifecycleDeps): DeploymentLifecycle {
  /** Runs a step if the deployment still has the generation that the step was made for. */
  const runStep = (
    id: string,
    generation: number,
    apply: (transaction: DeploymentTransaction, before: DeploymentRecord) => Promise<DeploymentRecord | undefined>,
  ): Promise<DeploymentRecord | undefined> =>
    transact(async (transaction) => {
      const before = await transaction.tables.deployments.findById(id);
      return before?.generation === generation ? await apply(transaction, before) : undefined;
    });

  return {
    find: (id) => store.deployments.findById(id),

    start: (id, { generation, reason = '' }) =>
      runStep(id, generation, async (transaction, before) => {
        const isNew = before.plan === 'ptu' && before.status === 'pending';
        return isNew ? await transaction.applyTransition(before, { transition: 'begin', reason }) : before;
      }),

    reportReady: (id, { generation, readyCapacity, reason = '' }) =>
      runStep(id, generation, async (transaction, before) => {
        checkReady(readyCapacity);
        return await transitionUnlessRepeated(transaction, before, {
          transition: 'ready',
          reason,
          changes: { readyCapacity },
        });
      }),

    reportReached: (id, { generation, readyCapacity, reason = '' }) =>
      runStep(id, generation, async (transaction, before) => {
        checkReady(readyCapacity);
        const transition = before.capacity === 0 ? 'stop' : 'reach';
        const changes = { readyCapacity, appliedGeneration: generation };
        return await transitionUnlessRepeated(transaction, before, { transition, reason, changes });
      }),

    fail: (id, { generation, reason }) =>
      runStep(id, generation, (transaction, before) =>
        transitionUnlessRepeated(transaction, before, { transition: 'fail', reason, changes: { readyCapacity: 0 } }),
      ),

    finishDeletion: (id, { generation }) =>
      transact(async ({ tables, remove }) => {
        const before = await tables.deployments.findById(id);
        if (!before) return true;
        if (before.generation !== generation || findNextStatus(before.status, 'go') !== 'gone') return false;
        await remove(before);
        return true;
      }),
  };
}

/** Applies a transition unless the status, the ready capacity and the reason (apart from its numbers) stay the same. */
async function transitionUnlessRepeated(
  { tables, applyTransition }: DeploymentTransaction,
  before: DeploymentRecord,
  request: Parameters<DeploymentTransaction['applyTransition']>[1] & {
    readonly changes: Partial<Pick<DeploymentRecord, 'readyCapacity' | 'appliedGeneration'>>;
  },
): Promise<DeploymentRecord | undefined> {
  const { readyCapacity, appliedGeneration } = { ...before, ...request.changes };
  const isSame =
    findNextStatus(before.status, request.transition) === before.status &&
    readyCapacity === before.readyCapacity &&
    appliedGeneration === before.appliedGeneration;
  if (isSame && (await isLastReason(tables.deployments, before.id, request.reason))) return before;
  return await applyTransition(before, request);
}

async function isLastReason(deployments: DeploymentStore, id: string, reason: string): Promise<boolean> {
  if (reason === '') return true;
  const last = await deployments.findLastEvent(id);
  return last !== undefined && maskDigits(last.reason) === maskDigits(cleanReason(reason));
}

/** Retries fail for the same reason with other numbers, such as free memory; the reason counts as unchanged. */
const maskDigits = (reason: string): string => reason.replaceAll(/\d+/g, '0');

const checkReady = (readyCapacity: number): void =>
  assert(Number.isSafeInteger(readyCapacity) && readyCapacity >= 0, 'ready capacity is a whole number');
