// Child process of research.test.ts: works on research runs, reads one to its end, prints its events, and then waits to
// be killed.
import { loadConfig } from '../../../../config/load-config.ts';
import { systemIdGenerator } from '../../../../core/id.ts';
import { systemClock } from '../../../../lib/clock.ts';
import { createJobNotifier } from '../../../../resources/jobs/job-notifier.ts';
import { createScriptedResearch, REQUEST } from '../../runs/__fixtures__/scripted-research.ts';
import { openJobWorker } from '../../../../service/open-job-worker.ts';
import { openResearch } from '../../create-deep-research.ts';
import { createSqliteDialect } from '../../../../store/dialects/sqlite.ts';
import { openStore } from '../../../../store/store.ts';

const [, , file, keyId, lastText] = process.argv;
if (file === undefined || keyId === undefined) throw new Error('usage: research-child FILE KEY [LAST_STEP]');
/** This step never finishes. */
const blockedStep = lastText === undefined ? undefined : Number(lastText);
/** Duration of each other step, in ms. */
const STEP_MS = 50;

const report = (word: string, value: unknown): void => void process.stdout.write(`${word} ${JSON.stringify(value)}\n`);
const noop = (): void => undefined;

const store = await openStore({ dialect: createSqliteDialect({ file }) });
const log = {
  info: noop,
  warn: (message: string) => report('error', message),
  error: (message: string) => report('error', message),
};
const jobNotifier = createJobNotifier();
const research = createScriptedResearch({
  async before(step) {
    report('started', step);
    await new Promise((resolve) => {
      if (step !== blockedStep) setTimeout(resolve, STEP_MS);
    });
  },
});
const { config } = loadConfig({ env: { PARLEY_DATA: '/nowhere' }, readFile: () => undefined });
const module = openResearch({ config, store, jobNotifier, clock: systemClock, log, runsCleanup: true }, research);
const jobs = openJobWorker({
  jobs: store.jobs,
  handlers: module.jobs,
  notifier: jobNotifier,
  clock: systemClock,
  log,
  meter: { trackJob: () => noop },
});
jobs.start();
// Keeps the process alive, because the worker's timers do not.
process.stdin.resume();

const context = {
  requestId: systemIdGenerator.createRequestId(),
  owner: { region: 'cn-beijing', workspace: 'primary', keyId },
  signal: new AbortController().signal,
  log: { add: noop, warn: noop },
} as const;
for await (const events of await module.runs.open({ request: REQUEST, fingerprint: 'same' }, context))
  for (const event of events) report('event', event);
report('end', null);
