import { type IdGenerator, systemIdGenerator } from '../../core/id.ts';
import type { Clock } from '../../lib/clock.ts';
import { createJob } from '../jobs/create-job.ts';
import type { RunDeploymentTransaction } from './deployment-transaction.ts';

export interface RestartDeps {
  readonly transact: RunDeploymentTransaction;
  readonly clock: Clock;
  readonly ids?: IdGenerator;
}

/**
 * Resets deployments after a start of the process that runs the engines, because the engines of its predecessor are
 * gone: sets their ready capacity to 0 and enqueues jobs that start them again or finish interrupted changes. One
 * transaction.
 */
export async function restartDeployments({ transact, clock, ids = systemIdGenerator }: RestartDeps): Promise<void> {
  await transact(
    async ({ tables, applyTransition }) => {
      for (const record of await tables.deployments.listAll()) {
        const { id, generation, region, workspace, modifier, plan, status } = record;
        if (status === 'failed' || status === 'stopped') continue;
        // Reserved tokens have no engine of their own.
        if (plan === 'ptu' && status === 'running') continue;
        if (plan !== 'ptu' && record.readyCapacity > 0)
          await applyTransition(record, {
            transition: 'ready',
            reason: 'The service was restarted.',
            changes: { readyCapacity: 0 },
          });
        const owner = { region, workspace, keyId: modifier };
        await tables.jobs.requeue(
          createJob({ kind: 'deployment', subject: id, owner, payload: { generation } }, { ids, clock }),
        );
      }
    },
    { usesReserve: true },
  );
}
