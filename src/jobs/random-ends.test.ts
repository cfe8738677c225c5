import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { JOB_LEASE_MS } from '../core/limits.ts';
import {
  playConnection,
  playHandler,
  playWorkers,
  type PlayedConnection,
  type PlayedWorker,
} from './__fixtures__/played-worker.ts';

/** What may happen; numbers choose among what there is then. */
const step = fc.oneof(
  fc.record({ what: fc.constantFrom('begin', 'put'), at: fc.nat(9) }),
  fc.record({ what: fc.constantFrom('crash', 'close', 'cut', 'mend', 'cancel'), at: fc.nat(9) }),
  fc.record({ what: fc.constantFrom('finish', 'fail', 'again', 'report'), at: fc.nat(9) }),
  fc.record({ what: fc.constantFrom('pass', 'leap'), at: fc.nat(9) }),
);

interface PlayedProcess {
  readonly worker: PlayedWorker;
  readonly connection: PlayedConnection;
  readonly handler: ReturnType<typeof playHandler>;
}

describe('jobs under random crashes, outages, cancels and failures', () => {
  it('each end exactly once, with what belongs to that end, and are never run twice at a time in one process', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        const world = await playWorkers();
        const processes: PlayedProcess[] = [];
        const connections: PlayedConnection[] = [];
        const ids: string[] = [];
        const told: string[] = [];
        const begin = (handler: ReturnType<typeof playHandler>): void => {
          const connection = playConnection(world.store.jobs);
          const atWork = new Set<string>();
          const worker = world.begin(
            {
              batch: {
                async run(run) {
                  assert.ok(!atWork.has(run.job.id), 'it is run twice at a time');
                  atWork.add(run.job.id);
                  try {
                    return await handler.run(run);
                  } finally {
                    atWork.delete(run.job.id);
                  }
                },
                giveUp: async ({ id }) => void told.push(`${id} failed`),
                cancel: async ({ id }) => void told.push(`${id} cancelled`),
              },
            },
            { jobs: connection.jobs },
          );
          connections.push(connection);
          processes.push({ worker, connection, handler });
        };
        for (const { what, at } of steps) {
          const process = processes[at % Math.max(1, processes.length)];
          const run = process?.handler.runs.at(-1 - (at % 3));
          const now = world.time.clock.now();
          if (what === 'begin' && processes.length < 4) begin(playHandler({ stops: at % 2 === 0 }));
          if (what === 'put') ids.push(await world.put(`subject ${ids.length}`, { tries: 1 + (at % 3) }));
          if (what === 'cancel' && ids.length > 0) await world.store.jobs.cancel(ids[at % ids.length] ?? '', now);
          if (what === 'crash' && process) {
            process.connection.state = 'silent';
            processes.splice(processes.indexOf(process), 1);
          }
          if (what === 'close' && process) {
            process.connection.state = 'up';
            processes.splice(processes.indexOf(process), 1);
            const closing = process.worker.close();
            await world.time.pass(JOB_LEASE_MS);
            await closing;
          }
          if (what === 'cut' && process) process.connection.state = 'down';
          if (what === 'mend' && process) process.connection.state = 'up';
          if (what === 'finish') run?.finish();
          if (what === 'again') run?.finish({ type: 'again', afterMs: at * 5_000 });
          if (what === 'fail') run?.fail(new Error('no luck'));
          if (what === 'report') run?.report({ done: at });
          if (what === 'pass') await world.time.pass(at * 1_500);
          if (what === 'leap') world.time.leap(at * JOB_LEASE_MS);
          else await world.time.pass(0);
        }
        // Those that are left die, and one that works does the rest.
        for (const { connection } of processes) connection.state = 'silent';
        const last = playHandler();
        begin({ ...last, run: async () => ({ type: 'done' }) });
        for (let count = 0; count < 30; count += 1) {
          world.time.leap(JOB_LEASE_MS);
          await world.time.pass(1_000);
        }
        const ends = connections.flatMap(({ answers }) =>
          answers.filter(({ name, result }) => name === 'end' && result === true).map(({ about }) => String(about)),
        );
        assert.deepEqual(ends.toSorted(), ids.toSorted());
        for (const id of ids) {
          const { state } = await world.find(id);
          assert.ok(state === 'done' || told.includes(`${id} ${state}`), `${id} ${state}`);
        }
        await world.close();
      }),
      { numRuns: 30 },
    );
  });
});
