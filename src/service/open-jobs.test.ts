import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { playHandler, playWorkers } from '../jobs/__fixtures__/played-worker.ts';
import { createJobBell } from '../resources/jobs/job-bell.ts';
import { newLeaseName } from './lease-owner.ts';
import { openJobs } from './open-jobs.ts';

const quiet = (): void => undefined;

describe('the jobs of a service', () => {
  it('are worked at from its start to its end, by a name of its own', async () => {
    const world = await playWorkers();
    const { clock, every } = world.time;
    const [first, second] = [playHandler(), playHandler()];
    const open = (batch: ReturnType<typeof playHandler>) =>
      openJobs({
        jobs: world.store.jobs,
        handlers: { batch: { atOnce: 1, run: batch.run } },
        bell: createJobBell(),
        clock,
        every,
        log: { info: quiet, warn: quiet, error: quiet },
        meter: { jobStarted: () => quiet },
      });
    const [one, other] = [open(first), open(second)];
    const ids = [await world.put('a'), await world.put('b')];
    await world.time.pass(60_000);
    assert.equal(first.runs.length, 0);
    one.start();
    await world.time.pass(0);
    other.start();
    await world.time.pass(0);
    const owners = await Promise.all(ids.map(async (id) => (await world.find(id)).leaseOwner));
    assert.equal(new Set(owners).size, 2);
    assert.ok(owners.every((owner) => owner?.includes(`:${process.pid}:`)));
    await one.close();
    assert.equal(first.last().signal.reason, 'shutdown');
    one.start();
    await world.time.pass(60_000);
    assert.equal(first.runs.length, 1);
    await other.close();
    await open(first).close();
    await world.close();
  });

  it('of a process that is gone are taken over at once, and those of one that may be alive are not', async () => {
    const world = await playWorkers();
    const { clock, every } = world.time;
    const own = newLeaseName();
    const gone = own.replace(/:\d+:(?=[0-9a-f]+$)/, ':1:');
    for (const leaseOwner of [gone, own, `elsewhere${gone}`]) {
      const id = await world.put(leaseOwner);
      const leaseUntil = clock.now() + 20_000;
      const claimed = await world.store.jobs.claim({ leaseOwner, leaseUntil, now: clock.now(), kinds: ['batch'] });
      assert.equal(claimed?.id, id);
    }
    const handler = playHandler();
    const opened = openJobs({
      jobs: world.store.jobs,
      handlers: { batch: { run: handler.run } },
      bell: createJobBell(),
      clock,
      every,
      log: { info: quiet, warn: quiet, error: quiet },
      meter: { jobStarted: () => quiet },
    });
    opened.start();
    await world.time.pass(2_000);
    assert.deepEqual(
      handler.runs.map(({ job }) => job.subject),
      [gone],
    );
    await opened.close();
    await world.close();
  });
});
