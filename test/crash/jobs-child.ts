// A process of its own for jobs.test.ts: works at jobs, tells what it does, and waits to be killed or told to stop.
import { systemClock } from '../../src/lib/clock.ts';
import { createJobBell } from '../../src/resources/jobs/job-bell.ts';
import { startJobWorker } from '../../src/jobs/worker.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const [, , file, name, stepsText, leaseText] = process.argv;
if (file === undefined || name === undefined) throw new Error('usage: jobs-child FILE NAME STEPS LEASE_MS');

const tell = (...words: readonly (string | number)[]): void => void process.stdout.write(`${words.join(' ')}\n`);
const quiet = (): void => undefined;

const store = await openStore({ dialect: sqliteDialect({ file }) });
const worker = startJobWorker({
  jobs: store.jobs,
  handlers: {
    batch: {
      async run({ job, signal, report }) {
        tell('begun', job.subject, job.attempt);
        const steps = Number(stepsText);
        for (let done = job.progress?.done ?? 0; done < steps; done += 1) {
          report({ done, total: steps });
          await new Promise((resolve) => setImmediate(resolve));
          signal.throwIfAborted();
        }
        tell('done', job.subject, job.attempt);
        return { type: 'done' };
      },
    },
  },
  bell: createJobBell(),
  leaseOwner: name,
  clock: systemClock,
  log: { info: quiet, warn: quiet, error: (message, { error } = {}) => tell('trouble', message, String(error)) },
  meter: { jobStarted: () => quiet },
  timing: { lookMs: 50, renewMs: 50, leaseMs: Number(leaseText) },
});
// The timers of the worker keep no process alive.
process.stdin.resume();
process.once('SIGTERM', () => {
  void worker.close().then(async () => {
    await store.close();
    process.exit(0);
  });
});
tell('ready');
