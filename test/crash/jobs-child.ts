// Child process of jobs.test.ts: runs jobs, prints what it does, and waits for SIGKILL or SIGTERM.
import { systemClock } from '../../src/lib/clock.ts';
import { createJobNotifier } from '../../src/resources/jobs/job-notifier.ts';
import { startJobWorker } from '../../src/jobs/worker.ts';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const [, , file, name, stepsText, leaseText] = process.argv;
if (file === undefined || name === undefined) throw new Error('usage: jobs-child FILE NAME STEPS LEASE_MS');

const printLine = (...words: readonly (string | number)[]): void => void process.stdout.write(`${words.join(' ')}\n`);
const noop = (): void => undefined;

const store = await openStore({ dialect: createSqliteDialect({ file }) });
const worker = startJobWorker({
  jobs: store.jobs,
  handlers: {
    batch: {
      async run({ job, signal, report }) {
        printLine('started', job.subject, job.attempt);
        const steps = Number(stepsText);
        for (let done = job.progress?.done ?? 0; done < steps; done += 1) {
          report({ done, total: steps });
          await new Promise((resolve) => setImmediate(resolve));
          signal.throwIfAborted();
        }
        printLine('done', job.subject, job.attempt);
        return { type: 'done' };
      },
    },
  },
  notifier: createJobNotifier(),
  leaseOwner: name,
  clock: systemClock,
  log: { info: noop, warn: noop, error: (message, { error } = {}) => printLine('error', message, String(error)) },
  meter: { trackJob: () => noop },
  timing: { pollMs: 50, renewMs: 50, leaseMs: Number(leaseText) },
});
// Keeps the process alive, because the worker's timers do not.
process.stdin.resume();
process.once('SIGTERM', () => {
  void worker.close().then(async () => {
    await store.close();
    process.exit(0);
  });
});
printLine('ready');
