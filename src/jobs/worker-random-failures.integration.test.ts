import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import { JOB_LEASE_MS } from './limits.ts';
import {
  createFaultyConnection,
  createScriptedHandler,
  createTestWorkers,
  type FaultyConnection,
  type TestWorker,
} from './__fixtures__/test-workers.ts';

/** A random action; `at` selects its target among the current processes, runs or jobs. */
const step = fc.oneof(
  fc.record({ action: fc.constantFrom('start', 'insert'), at: fc.nat(9) }),
  fc.record({ action: fc.constantFrom('crash', 'close', 'disconnect', 'reconnect', 'cancel'), at: fc.nat(9) }),
  fc.record({ action: fc.constantFrom('finish', 'fail', 'rerun', 'report'), at: fc.nat(9) }),
  fc.record({ action: fc.constantFrom('advance', 'jump'), at: fc.nat(9) }),
);

interface TestProcess {
  readonly worker: TestWorker;
  readonly connection: FaultyConnection;
  readonly handler: ReturnType<typeof createScriptedHandler>;
}

describe('job workers under random crashes, outages, cancellations and failures', () => {
  it('finish each job exactly once and never run it twice at a time in one process', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        const testWorkers = await createTestWorkers();
        const processes: TestProcess[] = [];
        const connections: FaultyConnection[] = [];
        const ids: string[] = [];
        const finalCalls: string[] = [];
        const startProcess = (handler: ReturnType<typeof createScriptedHandler>): void => {
          const connection = createFaultyConnection(testWorkers.store.jobs);
          const running = new Set<string>();
          const worker = testWorkers.start(
            {
              batch: {
                async run(run) {
                  assert.ok(!running.has(run.job.id), 'the job runs twice at a time');
                  running.add(run.job.id);
                  try {
                    return await handler.run(run);
                  } finally {
                    running.delete(run.job.id);
                  }
                },
                giveUp: async ({ id }) => void finalCalls.push(`${id} failed`),
                cancel: async ({ id }) => void finalCalls.push(`${id} cancelled`),
              },
            },
            { jobs: connection.jobs },
          );
          connections.push(connection);
          processes.push({ worker, connection, handler });
        };
        for (const { action, at } of steps) {
          const process = processes[at % Math.max(1, processes.length)];
          const run = process?.handler.runs.at(-1 - (at % 3));
          const now = testWorkers.time.clock.now();
          if (action === 'start' && processes.length < 4)
            startProcess(createScriptedHandler({ rejectsOnAbort: at % 2 === 0 }));
          if (action === 'insert')
            ids.push(await testWorkers.insertJob(`subject ${ids.length}`, { attemptsMax: 1 + (at % 3) }));
          if (action === 'cancel' && ids.length > 0)
            await testWorkers.store.jobs.cancel(ids[at % ids.length] ?? '', now);
          if (action === 'crash' && process) {
            process.connection.state = 'silent';
            processes.splice(processes.indexOf(process), 1);
          }
          if (action === 'close' && process) {
            process.connection.state = 'up';
            processes.splice(processes.indexOf(process), 1);
            const closing = process.worker.close();
            await testWorkers.time.advance(JOB_LEASE_MS);
            await closing;
          }
          if (action === 'disconnect' && process) process.connection.state = 'down';
          if (action === 'reconnect' && process) process.connection.state = 'up';
          if (action === 'finish') run?.finish();
          if (action === 'rerun') run?.finish({ type: 'rerun', delayMs: at * 5_000 });
          if (action === 'fail') run?.fail(new Error('no luck'));
          if (action === 'report') run?.report({ done: at });
          if (action === 'advance') await testWorkers.time.advance(at * 1_500);
          if (action === 'jump') testWorkers.time.jump(at * JOB_LEASE_MS);
          else await testWorkers.time.advance(0);
        }
        // The remaining processes die; a new one finishes all jobs.
        for (const { connection } of processes) connection.state = 'silent';
        const last = createScriptedHandler();
        startProcess({ ...last, run: async () => ({ type: 'done' }) });
        for (let count = 0; count < 30; count += 1) {
          testWorkers.time.jump(JOB_LEASE_MS);
          await testWorkers.time.advance(1_000);
        }
        const finishedIds = connections.flatMap(({ calls }) =>
          calls
            .filter(({ name, result }) => name === 'finish' && result === true)
            .map(({ firstArgument }) => String(firstArgument)),
        );
        assert.deepEqual(finishedIds.toSorted(), ids.toSorted());
        for (const id of ids) {
          const { state } = await testWorkers.findJob(id);
          assert.ok(state === 'done' || finalCalls.includes(`${id} ${state}`), `${id} ${state}`);
        }
        await testWorkers.close();
      }),
      { numRuns: scalePropertyRuns(30) },
    );
  });
});
