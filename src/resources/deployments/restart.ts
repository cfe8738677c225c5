import { type Ids, systemIds } from '../../core/id.ts';
import type { Clock } from '../../lib/clock.ts';
import { newJob } from '../jobs/new-job.ts';
import type { ChangeDeployments } from './changes.ts';

export interface RestartNeeds {
  readonly change: ChangeDeployments;
  readonly clock: Clock;
  readonly ids?: Ids;
}

/**
 * After a start of the process that keeps the engines: those of earlier ones have ended with theirs. So nothing serves, and
 * whatever is wanted is to be brought about once more; whatever was begun goes on. One transaction.
 */
export async function restartDeployments({ change, clock, ids = systemIds }: RestartNeeds): Promise<void> {
  await change(async ({ tables, move }) => {
    for (const record of await tables.deployments.listAll()) {
      const { id, generation, region, workspace, modifier, plan, status } = record;
      if (status === 'failed' || status === 'stopped') continue;
      // What is reserved has no engine of its own.
      if (plan === 'ptu' && status === 'running') continue;
      if (plan !== 'ptu' && record.readyCapacity > 0)
        await move(record, { move: 'ready', reason: 'The service was started again.', change: { readyCapacity: 0 } });
      const owner = { region, workspace, keyId: modifier };
      await tables.jobs.requeue(
        newJob({ kind: 'deployment', subject: id, owner, payload: { generation } }, { ids, clock }),
      );
    }
  });
}
