import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createSupervisor } from '../../src/engines/supervisor.ts';
import type { ChildEnd, ChildSpec, Launch, Supervisor, SupervisorTimes } from '../../src/engines/supervisor.ts';
import { until } from '../until.ts';

const WITHIN = { withinMs: 30_000 };

const TIMES: SupervisorTimes = {
  startMsMax: 10_000,
  progressMs: 10_000,
  waitMsMax: 10_000,
  heartbeatMs: 50,
  heartbeatsLostMax: 2,
  backoffMsMin: 10,
  backoffMsMax: 40,
  steadyMs: 10_000,
  stopMsMax: 300,
};

/** Lives as long as its standard input is open. */
const LIVE = "console.log('noise'); console.log('ready ' + process.pid); process.stdin.resume();";
const FAIL = "console.error('no such model'); process.exit(3);";
const SILENT = 'process.stdin.resume();';
const DEAF = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('ready ' + process.pid);";

interface Overrides extends Partial<Omit<ChildSpec<number>, 'launch'>> {
  readonly times?: Partial<SupervisorTimes>;
  readonly launch?: Partial<Launch<number>>;
}

describe('a supervisor', () => {
  const supervisors: Supervisor<number>[] = [];
  after(() => Promise.all(supervisors.map((supervisor) => supervisor.stop())));

  const supervise = (script: string, { times, launch, ...more }: Overrides = {}) => {
    const warnings: Readonly<Record<string, unknown>>[] = [];
    const infos: Readonly<Record<string, unknown>>[] = [];
    const supervisor = createSupervisor<number>(
      {
        name: 'fake',
        launch: () => ({
          command: process.execPath,
          args: ['-e', script],
          handshake: (line) => (line.startsWith('ready ') ? Number(line.slice('ready '.length)) : undefined),
          ...launch,
        }),
        ...more,
      },
      {
        info: (message, facts) => void infos.push({ message, ...facts }),
        warn: (message, facts) => void warnings.push({ message, ...facts }),
      },
      { ...TIMES, ...times },
    );
    supervisors.push(supervisor);
    return { supervisor, warnings, infos };
  };

  test('starts one child for all who ask, and is ready at its handshake', async () => {
    const { supervisor } = supervise(LIVE);
    assert.equal(supervisor.state, 'stopped');
    const asked = [supervisor.ready(), supervisor.ready()];
    assert.equal(supervisor.state, 'starting');
    const [a, b] = await Promise.all(asked);
    assert.equal(a, b);
    assert.equal(a, supervisor.pid);
    assert.equal(supervisor.state, 'ready');
  });

  test('starts a killed child again, and frees what belonged to it', async () => {
    const gone: number[] = [];
    const { supervisor, warnings } = supervise(LIVE, { onGone: (pid) => gone.push(pid) });
    const first = await supervisor.ready();
    process.kill(first, 'SIGKILL');
    // It says no where this process itself stands still for long.
    await until('it is gone', WITHIN, async () => ((await supervisor.gone(first)) ? true : undefined));
    const second = await supervisor.ready();
    assert.notEqual(second, first);
    assert.deepEqual(gone, [first]);
    assert.equal(warnings[0]?.signal, 'SIGKILL');
    assert.equal(await supervisor.gone(first), true, 'known already');
  });

  test('refuses after three failed starts, says why in the log, goes on trying, and recovers', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-supervisor-'));
    const file = join(folder, 'repaired');
    const script = `if (require('node:fs').existsSync(${JSON.stringify(file)})) { ${LIVE} } else { ${FAIL} }`;
    const { supervisor, warnings } = supervise(script);
    await assert.rejects(supervisor.ready(), { kind: 'overloaded' });
    assert.equal(supervisor.state, 'failing');
    assert.equal(warnings.length, 3);
    assert.deepEqual([warnings[0]?.code, warnings[0]?.wasReady], [3, false]);
    assert.match(String(warnings[2]?.stderr), /no such model/);
    await assert.rejects(supervisor.ready(), { kind: 'overloaded' });
    await writeFile(file, '');
    await until('the child is repaired', WITHIN, async () => (supervisor.state === 'ready' ? true : undefined));
    await supervisor.ready();
    await rm(folder, { recursive: true });
  });

  test('is not taken in by a child that is ready and dead at once', async () => {
    const { supervisor, warnings } = supervise("console.log('ready ' + process.pid); process.exit(1);");
    await supervisor.ready().catch(() => undefined);
    await until('it was started four times', WITHIN, async () => (warnings.length >= 4 ? true : undefined));
    assert.ok(supervisor.state !== 'ready' || supervisor.pid !== undefined);
  });

  test('kills a child whose heart has stopped, after so many beats, and starts another', async () => {
    let beats = 0;
    const { supervisor, warnings } = supervise(LIVE, {
      heartbeat: async () => {
        // The heart of the next one beats.
        if (warnings.some(({ signal }) => signal === 'SIGKILL')) return;
        beats++;
        throw new Error('silence');
      },
    });
    const first = await supervisor.ready();
    await until('it was given up', WITHIN, async () =>
      warnings.some(({ signal }) => signal === 'SIGKILL') ? true : undefined,
    );
    assert.equal(beats, TIMES.heartbeatsLostMax);
    assert.notEqual(await supervisor.ready(), first);
  });

  test('kills a child that does not become ready in time', async () => {
    const { supervisor, warnings } = supervise(SILENT, { times: { startMsMax: 100 } });
    await assert.rejects(supervisor.ready(), { kind: 'overloaded' });
    assert.equal(warnings[0]?.message, 'engine process not ready in time');
    assert.equal(warnings[1]?.signal, 'SIGKILL');
  });

  test('lets a caller go who leaves, and one who has waited long enough', async () => {
    const { supervisor } = supervise(SILENT, { times: { waitMsMax: 100 } });
    const caller = new AbortController();
    const asked = supervisor.ready(caller.signal);
    caller.abort();
    await assert.rejects(asked, { kind: 'cancelled' });
    await assert.rejects(supervisor.ready(), { kind: 'overloaded' });
  });

  test('stops a child that closes with its input, and starts none any more', async () => {
    const { supervisor, warnings } = supervise(LIVE, { times: { stopMsMax: 60_000 } });
    await supervisor.ready();
    await supervisor.stop();
    assert.equal(supervisor.pid, undefined);
    assert.equal(supervisor.state, 'stopped');
    assert.deepEqual(warnings, []);
    await assert.rejects(supervisor.ready(), { kind: 'overloaded' });
    await supervisor.stop();
  });

  test('stops a child that hears nothing within its limit', async () => {
    const { supervisor } = supervise(DEAF);
    await supervisor.ready();
    const askedAt = performance.now();
    await supervisor.stop();
    assert.ok(performance.now() - askedAt >= TIMES.stopMsMax - 20);
    assert.equal(supervisor.pid, undefined);
  });

  test('refuses callers who wait when it is stopped', async () => {
    const { supervisor } = supervise(SILENT);
    const asked = assert.rejects(supervisor.ready(), { kind: 'overloaded' });
    await supervisor.stop();
    await asked;
  });

  test('a command that is not there is a failed start, and stopping does not wait for it', async () => {
    const { supervisor, warnings } = supervise('', { launch: { command: join(tmpdir(), 'no-such-command') } });
    await assert.rejects(supervisor.ready(), { kind: 'overloaded' });
    assert.match(String(warnings[0]?.error), /ENOENT/);
    const { supervisor: hasty } = supervise('', { launch: { command: join(tmpdir(), 'no-such-command') } });
    const asked = assert.rejects(hasty.ready(), { kind: 'overloaded' });
    await hasty.stop();
    await asked;
  });

  test('hands over the input, and is ready only when a child that has shown itself takes calls', async () => {
    const script =
      "process.stdin.once('data', (data) => console.log('ready ' + String(data))); process.stdin.resume();";
    const { promise: mayCome, resolve: come } = Promise.withResolvers<void>();
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<number>();
    const { supervisor, infos } = supervise(script, {
      launch: {
        input: '42',
        welcome: async (shown) => {
          isAsked(shown);
          await mayCome;
        },
      },
      factsOf: (ready) => ({ answer: ready }),
    });
    const ready = supervisor.ready();
    assert.equal(await asked, 42);
    assert.equal(supervisor.state, 'starting');
    come();
    assert.equal(await ready, 42);
    assert.equal(infos.at(-1)?.answer, 42);
  });

  test('tells a child that is waited for when it ends, and frees its start', async () => {
    const ends: ChildEnd[] = [];
    const aborted: boolean[] = [];
    // It ends when it is waited for, and not before it was heard.
    const { supervisor, warnings } = supervise(`process.on('SIGTERM', () => process.exit(4)); ${LIVE}`, {
      launch: {
        welcome: (pid, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              aborted.push(true);
              reject(new Error('gone'));
            });
            process.kill(pid, 'SIGTERM');
          }),
        onEnd: (end) => void ends.push(end),
      },
    });
    await assert.rejects(supervisor.ready(), { kind: 'overloaded' });
    assert.deepEqual([ends.length, aborted.length, warnings.length], [3, 3, 3]);
    assert.deepEqual(ends[0], { code: 4, signal: null });
  });

  test('logs a long start once in a while with the last line, and without what is hidden', async () => {
    const { infos } = await (async () => {
      const supervised = supervise(`console.error('loading with secret-1'); ${SILENT}`, {
        times: { progressMs: 20 },
        launch: { hidden: ['secret-1'] },
      });
      supervised.supervisor.ready().catch(() => undefined);
      await until('a line was told', WITHIN, async () =>
        supervised.infos.some(({ line }) => line !== undefined) ? true : undefined,
      );
      return supervised;
    })();
    const told = infos.find(({ line }) => line !== undefined);
    assert.deepEqual([told?.message, told?.line], ['engine process is starting', 'loading with [hidden]']);
  });

  test('counts a launch that fails as a failed start', async () => {
    const { supervisor, warnings } = supervise('', {});
    await supervisor.stop();
    const failing = createSupervisor<number>(
      { name: 'fake', launch: () => Promise.reject(new Error('no port is free')) },
      { info: () => undefined, warn: (message, facts) => void warnings.push({ message, ...facts }) },
      TIMES,
    );
    supervisors.push(failing);
    await assert.rejects(failing.ready(), { kind: 'overloaded' });
    assert.equal(warnings[0]?.error, 'no port is free');
  });

  test('waits longer with each end in a row', async () => {
    const { supervisor, infos } = supervise("console.log('ready 1'); setTimeout(() => process.exit(0), 10);", {
      times: { backoffMsMin: 100, backoffMsMax: 200 },
      factsOf: () => ({ at: performance.now() }),
    });
    await supervisor.ready();
    await until('it was ready four times', WITHIN, async () => (infos.length >= 4 ? true : undefined));
    const at = infos.map((facts) => Number(facts.at));
    assert.ok((at[3] ?? 0) - (at[2] ?? 0) >= 190, String(at));
  });

  test('takes its child with it, however it ends', async () => {
    const url = new URL('../../src/engines/supervisor.ts', import.meta.url).href;
    const parent = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        '--input-type=module',
        '-e',
        `import { createSupervisor } from ${JSON.stringify(url)};
         const log = { info() {}, warn() {} };
         const launch = { command: process.execPath, args: ['-e', ${JSON.stringify(LIVE)}],
           handshake: (line) => /^ready (.*)/.exec(line)?.[1] };
         const spec = { name: 'fake', launch: () => launch };
         console.log(await createSupervisor(spec, log).ready());`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [line] = await once(parent.stdout, 'data');
    const child = Number(String(line));
    assert.ok(child > 0);
    parent.kill('SIGKILL');
    await until('the child has ended', WITHIN, async () => {
      try {
        process.kill(child, 0);
        return undefined;
      } catch {
        return true;
      }
    });
  });
});
