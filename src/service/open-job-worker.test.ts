import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createScriptedHandler, createTestWorkers } from '../jobs/__fixtures__/test-workers.ts';
import { createJobNotifier } from '../resources/jobs/job-notifier.ts';
import { createLeaseOwnerName } from './lease-owner.ts';
import { openJobWorker } from './open-job-worker.ts';

const quiet = (): void => undefined;

describe('openJobWorker', () => {
  it('runs jobs from start to close, under its own lease owner name', async () => {
    const workers = await createTestWorkers();
    const { clock, startInterval } = workers.time;
    const [first, second] = [createScriptedHandler(), createScriptedHandler()];
    const open = (batch: ReturnType<typeof createScriptedHandler>) =>
      openJobWorker({
        jobs: workers.store.jobs,
        handlers: { batch: { concurrency: 1, run: batch.run } },
        notifier: createJobNotifier(),
        clock,
        startInterval,
        log: { info: quiet, warn: quiet, error: quiet },
        meter: { trackJob: () => quiet },
      });
    const [firstWorker, secondWorker] = [open(first), open(second)];
    const ids = [await workers.insertJob('a'), await workers.insertJob('b')];
    await workers.time.advance(60_000);
    assert.equal(first.runs.length, 0);
    firstWorker.start();
    await workers.time.advance(0);
    secondWorker.start();
    await workers.time.advance(0);
    const owners = await Promise.all(ids.map(async (id) => (await workers.findJob(id)).leaseOwner));
    assert.equal(new Set(owners).size, 2);
    assert.ok(owners.every((owner) => owner?.includes(`:${process.pid}:`)));
    await firstWorker.close();
    assert.equal(first.last().signal.reason, 'shutdown');
    firstWorker.start();
    await workers.time.advance(60_000);
    assert.equal(first.runs.length, 1);
    await secondWorker.close();
    await open(first).close();
    await workers.close();
  });

  it('releases jobs of a terminated process at once, and no others', async () => {
    const workers = await createTestWorkers();
    const { clock, startInterval } = workers.time;
    const liveOwner = createLeaseOwnerName();
    const deadOwner = liveOwner.replace(/:\d+:(?=[0-9a-f]+$)/, ':1:');
    for (const leaseOwner of [deadOwner, liveOwner, `elsewhere${deadOwner}`]) {
      const id = await workers.insertJob(leaseOwner);
      const leaseUntil = clock.now() + 20_000;
      const claimed = await workers.store.jobs.claim({ leaseOwner, leaseUntil, now: clock.now(), kinds: ['batch'] });
      assert.equal(claimed?.id, id);
    }
    const handler = createScriptedHandler();
    const worker = openJobWorker({
      jobs: workers.store.jobs,
      handlers: { batch: { run: handler.run } },
      notifier: createJobNotifier(),
      clock,
      startInterval,
      log: { info: quiet, warn: quiet, error: quiet },
      meter: { trackJob: () => quiet },
    });
    worker.start();
    await workers.time.advance(2_000);
    assert.deepEqual(
      handler.runs.map(({ job }) => job.subject),
      [deadOwner],
    );
    await worker.close();
    await workers.close();
  });
});
