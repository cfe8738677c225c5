import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/lib/clock.ts';
import { createKeys } from '../../src/resources/keys/service.ts';
import { PLAYED_STEPS, wholeRun } from '../../src/resources/research/__fixtures__/played-research.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { until } from '../until.ts';

const CHILD = fileURLToPath(new URL('research-child.ts', import.meta.url));
/** The machine may be busy. */
const PATIENCE = { withinMs: 60_000 };
/** Numbers of steps of a played run: its plan, its second query, the middle of its report. */
const PHASES = [0, 2, 4];

interface Server {
  readonly child: ChildProcess;
  /** What it told under that word. */
  told(word: string): readonly unknown[];
}

describe('a run of deep research whose process is killed', () => {
  let folder = '';
  let file = '';
  let store: Store;
  let key = '';
  let servers: Server[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    file = join(folder, 'parley.db');
    store = await openStore({ dialect: sqliteDialect({ file }) });
    const draft = { region: 'cn-beijing', workspace: 'primary', name: '', expiresAt: undefined } as const;
    key = (await createKeys({ store, clock: systemClock }).create(draft)).record.id;
    servers = [];
  });
  afterEach(async () => {
    await Promise.all(servers.map(kill));
    await store.close();
    await rm(folder, { recursive: true });
  });

  const start = (last?: number): Server => {
    const args = [CHILD, file, key, ...(last === undefined ? [] : [String(last)])];
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    assert.ok(child.stdout);
    const lines: string[] = [];
    createInterface(child.stdout).on('line', (line) => void lines.push(line));
    const told = (word: string): readonly unknown[] =>
      lines.filter((line) => line.startsWith(`${word} `)).map((line) => JSON.parse(line.slice(word.length)));
    const server = { child, told };
    servers.push(server);
    return server;
  };
  async function kill({ child }: Server): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  const ended = (server: Server) =>
    until('the end', PATIENCE, async () => (server.told('end').length > 0 ? server : undefined));

  it('is gone on with behind its last step in each phase, and its reader is told each event once', async () => {
    let from = 0;
    for (const phase of PHASES) {
      const server = start(phase);
      // What it reads comes from the store: the step before the one that it is at is there.
      const expected = wholeRun(phase);
      await until(`step ${phase}`, PATIENCE, async () =>
        server.told('begun').at(-1) === phase && server.told('event').length >= expected.length ? true : undefined,
      );
      await kill(server);
      assert.deepEqual(server.told('event'), expected);
      assert.deepEqual(server.told('begun'), numbers(from, phase + 1));
      from = phase;
    }
    const server = await ended(start());
    assert.deepEqual(server.told('event'), wholeRun());
    assert.deepEqual(server.told('begun'), numbers(from, PLAYED_STEPS));
    assert.deepEqual(server.told('trouble'), []);
    const [job] = await store.jobs.list({ kind: 'research', limit: 9 });
    const run = (await store.research.find(job?.subject ?? '')) ?? assert.fail('there is no run');
    assert.deepEqual(
      [run.state, run.isDelivered, run.lastStep, run.attempt],
      ['done', true, PLAYED_STEPS - 1, PHASES.length + 1],
    );
    assert.equal((await store.research.steps(run.id, { from: 0, limit: 99 })).length, PLAYED_STEPS);
  });

  it('says the same as one that nothing cut short', async () => {
    const server = await ended(start());
    assert.deepEqual(server.told('event'), wholeRun());
    assert.deepEqual(server.told('begun'), numbers(0, PLAYED_STEPS));
  });
});

const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, at) => from + at);
