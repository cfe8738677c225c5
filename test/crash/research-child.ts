// A process of its own for research.test.ts: works at runs, reads one to its end, tells what it sees, and waits to be killed.
import { loadConfig } from '../../src/config/load-config.ts';
import { systemIds } from '../../src/core/id.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createJobBell } from '../../src/resources/jobs/job-bell.ts';
import { playResearch, REQUEST } from '../../src/resources/research/__fixtures__/played-research.ts';
import { openJobs } from '../../src/service/open-jobs.ts';
import { openResearch } from '../../src/service/open-research.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';

const [, , file, keyId, lastText] = process.argv;
if (file === undefined || keyId === undefined) throw new Error('usage: research-child FILE KEY [LAST_STEP]');
/** This step is never made. */
const last = lastText === undefined ? undefined : Number(lastText);
/** Each of the others takes so long. */
const STEP_MS = 50;

const tell = (word: string, value: unknown): void => void process.stdout.write(`${word} ${JSON.stringify(value)}\n`);
const quiet = (): void => undefined;

const store = await openStore({ dialect: sqliteDialect({ file }) });
const log = {
  info: quiet,
  warn: (message: string) => tell('trouble', message),
  error: (message: string) => tell('trouble', message),
};
const jobBell = createJobBell();
const research = playResearch({
  async before(step) {
    tell('begun', step);
    await new Promise((resolve) => {
      if (step !== last) setTimeout(resolve, STEP_MS);
    });
  },
});
const { config } = loadConfig({ env: { PARLEY_DATA: '/nowhere' }, readFile: () => undefined });
const opened = openResearch({
  config,
  store,
  research,
  jobBell,
  ids: systemIds,
  clock: systemClock,
  log,
  sweeps: true,
});
const jobs = openJobs({
  jobs: store.jobs,
  handlers: opened.jobs,
  bell: jobBell,
  clock: systemClock,
  log,
  meter: { jobStarted: () => quiet },
});
jobs.start();
// The timers of the worker keep no process alive.
process.stdin.resume();

const context = {
  requestId: systemIds.request(),
  owner: { region: 'cn-beijing', workspace: 'primary', keyId },
  signal: new AbortController().signal,
  log: { add: quiet, warn: quiet },
} as const;
for await (const events of await opened.runs.open({ request: REQUEST, likeness: 'same' }, context))
  for (const event of events) tell('event', event);
tell('end', null);
