import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../../lib/clock.ts';
import { createKeys } from '../../../../resources/keys/service.ts';
import { SCRIPTED_STEPS, getAllEvents } from '../../runs/__fixtures__/scripted-research.ts';
import { createSqliteDialect } from '../../../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../../../store/store.ts';
import { until } from '../../../../../test/until.ts';

const CHILD = fileURLToPath(new URL('research-child.ts', import.meta.url));
/** Generous, because the machine may be busy. */
const WAIT = { timeoutMs: 60_000 };
/** Step numbers of a scripted run: its plan, its second query, the middle of its report. */
const BLOCKED_STEPS = [0, 2, 4];

interface ResearchProcess {
  readonly child: ChildProcess;
  /** Returns the values that the child printed after this word. */
  getReports(word: string): readonly unknown[];
}

describe('deep research run in a process that is killed', () => {
  let folder = '';
  let file = '';
  let store: Store;
  let key = '';
  let workers: ResearchProcess[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    file = join(folder, 'parley.db');
    store = await openStore({ dialect: createSqliteDialect({ file }) });
    const draft = { region: 'cn-beijing', workspace: 'primary', name: '', expiresAt: undefined } as const;
    key = (await createKeys({ store, clock: systemClock }).create(draft)).record.id;
    workers = [];
  });
  afterEach(async () => {
    await Promise.all(workers.map(killProcess));
    await store.close();
    await rm(folder, { recursive: true });
  });

  const startProcess = (blockedStep?: number): ResearchProcess => {
    const args = [CHILD, file, key, ...(blockedStep === undefined ? [] : [String(blockedStep)])];
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    assert.ok(child.stdout);
    const lines: string[] = [];
    createInterface(child.stdout).on('line', (line) => void lines.push(line));
    const getReports = (word: string): readonly unknown[] =>
      lines.filter((line) => line.startsWith(`${word} `)).map((line) => JSON.parse(line.slice(word.length)));
    const worker = { child, getReports };
    workers.push(worker);
    return worker;
  };
  async function killProcess({ child }: ResearchProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  const waitForEnd = (server: ResearchProcess) =>
    until('the run ends', WAIT, async () => (server.getReports('end').length > 0 ? server : undefined));

  it('resumes after its last stored step in each phase, and emits each event to the reader once', async () => {
    let from = 0;
    for (const blockedStep of BLOCKED_STEPS) {
      const worker = startProcess(blockedStep);
      // The reader gets events from the store, so all steps before the blocked one are stored.
      const expected = getAllEvents(blockedStep);
      await until(`step ${blockedStep}`, WAIT, async () =>
        worker.getReports('started').at(-1) === blockedStep && worker.getReports('event').length >= expected.length
          ? true
          : undefined,
      );
      await killProcess(worker);
      assert.deepEqual(worker.getReports('event'), expected);
      assert.deepEqual(worker.getReports('started'), range(from, blockedStep + 1));
      from = blockedStep;
    }
    const worker = await waitForEnd(startProcess());
    assert.deepEqual(worker.getReports('event'), getAllEvents());
    assert.deepEqual(worker.getReports('started'), range(from, SCRIPTED_STEPS));
    assert.deepEqual(worker.getReports('error'), []);
    const [job] = await store.jobs.list({ kind: 'research', limit: 9 });
    const run = (await store.research.find(job?.subject ?? '')) ?? assert.fail('the run is not stored');
    assert.deepEqual(
      [run.state, run.isDelivered, run.lastStep, run.attempt],
      ['done', true, SCRIPTED_STEPS - 1, BLOCKED_STEPS.length + 1],
    );
    assert.equal((await store.research.listSteps(run.id, { from: 0, limit: 99 })).length, SCRIPTED_STEPS);
  });

  it('emits the same events as an uninterrupted run', async () => {
    const worker = await waitForEnd(startProcess());
    assert.deepEqual(worker.getReports('event'), getAllEvents());
    assert.deepEqual(worker.getReports('started'), range(0, SCRIPTED_STEPS));
  });
});

const range = (from: number, to: number): readonly number[] => Array.from({ length: to - from }, (_, at) => from + at);
