import type { DeploymentRecord } from '../../core/deployment.ts';
import { assert } from '../../lib/assert.ts';
import type { DeploymentStore } from '../../store/deployments.ts';
import type { Store } from '../../store/store.ts';
import type { Change, ChangeDeployments } from './changes.ts';
import type { DeploymentSteps } from './deployment.ts';
import { cleanReason } from './rules.ts';
import { nextStatus } from './states.ts';

export interface DeploymentStepsNeeds {
  readonly store: Pick<Store, 'deployments'>;
  readonly change: ChangeDeployments;
}

export function createDeploymentSteps({ store, change }: DeploymentStepsNeeds): DeploymentSteps {
  /** Of the generation it was made for, or of none. */
  const step = (
    id: string,
    generation: number,
    take: (change: Change, before: DeploymentRecord) => Promise<DeploymentRecord | undefined>,
  ): Promise<DeploymentRecord | undefined> =>
    change(async (within) => {
      const before = await within.tables.deployments.findById(id);
      return before?.generation === generation ? await take(within, before) : undefined;
    });

  return {
    find: (id) => store.deployments.findById(id),

    begin: (id, { generation, reason = '' }) =>
      step(id, generation, async (within, before) => {
        const isNew = before.plan === 'ptu' && before.status === 'pending';
        return isNew ? await within.move(before, { move: 'begin', reason }) : before;
      }),

    ready: (id, { generation, readyCapacity, reason = '' }) =>
      step(id, generation, async (within, before) => {
        checkReady(readyCapacity);
        const move = { move: 'ready', reason, change: { readyCapacity } } as const;
        return await moveOnce(within, before, move);
      }),

    reached: (id, { generation, readyCapacity, reason = '' }) =>
      step(id, generation, async (within, before) => {
        checkReady(readyCapacity);
        const move = before.capacity === 0 ? 'stop' : 'reach';
        return await moveOnce(within, before, { move, reason, change: { readyCapacity, reached: generation } });
      }),

    fail: (id, { generation, reason }) =>
      step(id, generation, (within, before) =>
        moveOnce(within, before, { move: 'fail', reason, change: { readyCapacity: 0 } }),
      ),

    gone: (id, { generation }) =>
      change(async ({ tables, remove }) => {
        const before = await tables.deployments.findById(id);
        if (!before) return true;
        if (before.generation !== generation || nextStatus(before.status, 'go') !== 'gone') return false;
        await remove(before);
        return true;
      }),
  };
}

/** Where nothing would be another one than it is, nor for another reason but for its figures, it is no change. */
async function moveOnce(
  { tables, move }: Change,
  before: DeploymentRecord,
  wish: Parameters<Change['move']>[1] & {
    readonly change: Partial<Pick<DeploymentRecord, 'readyCapacity' | 'reached'>>;
  },
): Promise<DeploymentRecord | undefined> {
  const { readyCapacity, reached } = { ...before, ...wish.change };
  const isSame =
    nextStatus(before.status, wish.move) === before.status &&
    readyCapacity === before.readyCapacity &&
    reached === before.reached;
  if (isSame && (await isKnown(tables.deployments, before.id, wish.reason))) return before;
  return await move(before, wish);
}

async function isKnown(deployments: DeploymentStore, id: string, reason: string): Promise<boolean> {
  if (reason === '') return true;
  const last = await deployments.lastEvent(id);
  return last !== undefined && withoutFigures(last.reason) === withoutFigures(cleanReason(reason));
}

/** What is tried again from time to time is in vain for the same reason, whatever memory there is by then. */
const withoutFigures = (reason: string): string => reason.replaceAll(/\d+/g, '0');

const checkReady = (readyCapacity: number): void =>
  assert(Number.isSafeInteger(readyCapacity) && readyCapacity >= 0, 'what is ready is a whole number');
