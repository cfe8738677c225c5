import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { createSupervisor } from '../../src/engines/supervisor.ts';
import type { ChildExit, ProcessLaunch } from '../../src/engines/child-run.ts';
import type { ChildSpec, Supervisor, SupervisorTimes } from '../../src/engines/supervisor.ts';
import { BEAT_LINE } from '../../src/engines/beats.ts';
import { until } from '../until.ts';

const TIMEOUT = { timeoutMs: 30_000 };

const TIMES: SupervisorTimes = {
  startMsMax: 10_000,
  progressMs: 10_000,
  waitMsMax: 10_000,
  heartbeatMs: 50,
  heartbeatsLostMax: 2,
  silenceMsMax: 1_000,
  backoffMsMin: 10,
  backoffMsMax: 40,
  fileRetryMs: 600_000,
  steadyMs: 10_000,
  stopMsMax: 300,
};

/** Prints noise and the handshake, and lives until its standard input closes. */
const LIVE_SCRIPT = "console.log('noise'); console.log('ready ' + process.pid); process.stdin.resume();";
const FAILING_SCRIPT = "console.error('no such model'); process.exit(3);";
const SILENT_SCRIPT = 'process.stdin.resume();';
const SIGTERM_IGNORING_SCRIPT =
  "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('ready ' + process.pid);";

interface Overrides extends Partial<Omit<ChildSpec<number>, 'launch'>> {
  readonly times?: Partial<SupervisorTimes>;
  readonly launch?: Partial<ProcessLaunch<number>>;
}

describe('supervisor', () => {
  const supervisors: Supervisor<number>[] = [];
  after(() => Promise.all(supervisors.map((supervisor) => supervisor.stop())));

  const createTestSupervisor = (script: string, { times, launch, ...more }: Overrides = {}) => {
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
        info: (message, fields) => void infos.push({ message, ...fields }),
        warn: (message, fields) => void warnings.push({ message, ...fields }),
      },
      { ...TIMES, ...times },
    );
    supervisors.push(supervisor);
    return { supervisor, warnings, infos };
  };

  test('starts one child for concurrent callers, and is ready after its handshake', async () => {
    const { supervisor } = createTestSupervisor(LIVE_SCRIPT);
    assert.equal(supervisor.state, 'stopped');
    const waiting = [supervisor.waitUntilReady(), supervisor.waitUntilReady()];
    assert.equal(supervisor.state, 'starting');
    const [a, b] = await Promise.all(waiting);
    assert.equal(a, b);
    assert.equal(a, supervisor.pid);
    assert.equal(supervisor.state, 'ready');
  });

  test('restarts a killed child, and reports the exit for cleanup', async () => {
    const exitedPids: number[] = [];
    const { supervisor, warnings } = createTestSupervisor(LIVE_SCRIPT, { onGone: (pid) => exitedPids.push(pid) });
    const first = await supervisor.waitUntilReady();
    process.kill(first, 'SIGKILL');
    // confirmExit returns false while this process stalls.
    await until('the exit is confirmed', TIMEOUT, async () =>
      (await supervisor.confirmExit(first)) ? true : undefined,
    );
    const second = await supervisor.waitUntilReady();
    assert.notEqual(second, first);
    assert.deepEqual(exitedPids, [first]);
    assert.equal(warnings[0]?.signal, 'SIGKILL');
    assert.equal(await supervisor.confirmExit(first), true, 'already confirmed');
  });

  test('refuses callers after three failed starts, logs the reason, and recovers', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-supervisor-'));
    const file = join(folder, 'repaired');
    const script = `if (require('node:fs').existsSync(${JSON.stringify(file)})) { ${LIVE_SCRIPT} } else { ${FAILING_SCRIPT} }`;
    const { supervisor, warnings } = createTestSupervisor(script);
    await assert.rejects(supervisor.waitUntilReady(), { kind: 'overloaded' });
    assert.equal(supervisor.state, 'failing');
    assert.equal(warnings.length, 3);
    assert.deepEqual([warnings[0]?.code, warnings[0]?.wasReady], [3, false]);
    assert.match(String(warnings[2]?.stderr), /no such model/);
    await assert.rejects(supervisor.waitUntilReady(), { kind: 'overloaded' });
    await writeFile(file, '');
    await until('the child is repaired', TIMEOUT, async () => (supervisor.state === 'ready' ? true : undefined));
    await supervisor.waitUntilReady();
    await rm(folder, { recursive: true });
  });

  test('starts no child again that failed to load a file until the file has changed, and names the file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-supervisor-'));
    const modelFile = join(folder, 'model.gguf');
    await writeFile(modelFile, 'bad');
    const script = `if (require('node:fs').readFileSync(${JSON.stringify(modelFile)}, 'utf8') === 'good') { ${LIVE_SCRIPT} } else process.abort();`;
    const { supervisor, warnings } = createTestSupervisor(script, { modelFile });
    const refusal = { kind: 'overloaded', message: /cannot load the model file model\.gguf: 3 starts failed/ };
    await assert.rejects(supervisor.waitUntilReady(), refusal);
    await assert.rejects(supervisor.waitUntilReady(), refusal);
    assert.equal(supervisor.state, 'failing');
    assert.equal(supervisor.pid, undefined);
    // A changed file is loaded at once; another bad one fails three more starts.
    await writeFile(modelFile, 'also bad');
    await assert.rejects(supervisor.waitUntilReady(), refusal);
    assert.equal(warnings.length, 6);
    await writeFile(modelFile, 'good');
    assert.equal(await supervisor.waitUntilReady(), supervisor.pid);
    await rm(folder, { recursive: true });
  });

  test('starts a child again that failed to load a file after the delay, since the cause may be another one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-supervisor-'));
    const memory = join(folder, 'memory');
    const script = `if (require('node:fs').existsSync(${JSON.stringify(memory)})) { ${LIVE_SCRIPT} } else process.abort();`;
    const { supervisor, warnings } = createTestSupervisor(script, { modelFile: folder, times: { fileRetryMs: 200 } });
    await assert.rejects(supervisor.waitUntilReady(), { kind: 'overloaded', retryAfterSeconds: 1 });
    assert.equal(warnings.length, 3);
    await until('the child was started again', TIMEOUT, async () => (warnings.length > 3 ? true : undefined));
    await writeFile(memory, '');
    await until('the child is ready', TIMEOUT, async () => (supervisor.state === 'ready' ? true : undefined));
    await rm(folder, { recursive: true });
  });

  test('is never ready without a process when the child exits right after its handshake', async () => {
    const { supervisor, warnings } = createTestSupervisor("console.log('ready ' + process.pid); process.exit(1);");
    await supervisor.waitUntilReady().catch(() => undefined);
    await until('the child was started four times', TIMEOUT, async () => (warnings.length >= 4 ? true : undefined));
    assert.ok(supervisor.state !== 'ready' || supervisor.pid !== undefined);
  });

  test('kills a child that prints no more beats, and starts another', async () => {
    const script = (isFirst: boolean): string =>
      `${LIVE_SCRIPT} const timer = setInterval(() => console.log('${BEAT_LINE}'), 20);` +
      (isFirst ? "process.on('SIGUSR2', () => clearInterval(timer));" : '');
    let starts = 0;
    const { supervisor, warnings } = createTestSupervisor('', {
      hasBeats: true,
      launch: {
        get args() {
          return ['-e', script(starts++ === 0)];
        },
      },
    });
    const first = await supervisor.waitUntilReady();
    process.kill(first, 'SIGUSR2');
    const second = await until('another child', TIMEOUT, async () => {
      const pid = await supervisor.waitUntilReady();
      return pid === first ? undefined : pid;
    });
    assert.ok(second > 1);
    assert.ok(warnings.some(({ message }) => message === 'engine process hangs'));
  });

  test('kills a child after too many failed heartbeats, and starts another', async () => {
    let beats = 0;
    const { supervisor, warnings } = createTestSupervisor(LIVE_SCRIPT, {
      heartbeat: async () => {
        // The heartbeat of the next child succeeds.
        if (warnings.some(({ signal }) => signal === 'SIGKILL')) return;
        beats++;
        throw new Error('no response');
      },
    });
    const first = await supervisor.waitUntilReady();
    await until('the child was killed', TIMEOUT, async () =>
      warnings.some(({ signal }) => signal === 'SIGKILL') ? true : undefined,
    );
    assert.equal(beats, TIMES.heartbeatsLostMax);
    assert.notEqual(await supervisor.waitUntilReady(), first);
  });

  test('kills a child that does not become ready in time', async () => {
    const { supervisor, warnings } = createTestSupervisor(SILENT_SCRIPT, { times: { startMsMax: 100 } });
    await assert.rejects(supervisor.waitUntilReady(), { kind: 'overloaded' });
    assert.equal(warnings[0]?.message, 'engine process not ready in time');
    assert.equal(warnings[1]?.signal, 'SIGKILL');
  });

  test('rejects callers that abort, and callers that have waited too long', async () => {
    const { supervisor } = createTestSupervisor(SILENT_SCRIPT, { times: { waitMsMax: 100 } });
    const caller = new AbortController();
    const waiting = supervisor.waitUntilReady(caller.signal);
    caller.abort();
    await assert.rejects(waiting, { kind: 'cancelled' });
    await assert.rejects(supervisor.waitUntilReady(), { kind: 'overloaded' });
  });

  test('stops a child by closing its input, and refuses callers afterwards', async () => {
    const { supervisor, warnings } = createTestSupervisor(LIVE_SCRIPT, { times: { stopMsMax: 60_000 } });
    await supervisor.waitUntilReady();
    await supervisor.stop();
    assert.equal(supervisor.pid, undefined);
    assert.equal(supervisor.state, 'stopped');
    assert.deepEqual(warnings, []);
    await assert.rejects(supervisor.waitUntilReady(), { kind: 'overloaded' });
    await supervisor.stop();
  });

  test('kills a child that ignores SIGTERM after the time limit', async () => {
    const { supervisor } = createTestSupervisor(SIGTERM_IGNORING_SCRIPT);
    await supervisor.waitUntilReady();
    const stopStartedAt = performance.now();
    await supervisor.stop();
    assert.ok(performance.now() - stopStartedAt >= TIMES.stopMsMax - 20);
    assert.equal(supervisor.pid, undefined);
  });

  test('rejects waiting callers on stop', async () => {
    const { supervisor } = createTestSupervisor(SILENT_SCRIPT);
    const rejection = assert.rejects(supervisor.waitUntilReady(), { kind: 'overloaded' });
    await supervisor.stop();
    await rejection;
  });

  test('treats a missing command as a failed start, and does not wait for it on stop', async () => {
    const { supervisor, warnings } = createTestSupervisor('', {
      launch: { command: join(tmpdir(), 'no-such-command') },
    });
    await assert.rejects(supervisor.waitUntilReady(), { kind: 'overloaded' });
    assert.match(String(warnings[0]?.error), /ENOENT/);
    const { supervisor: stoppedEarly } = createTestSupervisor('', {
      launch: { command: join(tmpdir(), 'no-such-command') },
    });
    const rejection = assert.rejects(stoppedEarly.waitUntilReady(), { kind: 'overloaded' });
    await stoppedEarly.stop();
    await rejection;
  });

  test('passes the input to the child, and is ready only after waitUntilServing', async () => {
    const script =
      "process.stdin.once('data', (data) => console.log('ready ' + String(data))); process.stdin.resume();";
    const { promise: mayServe, resolve: allowServing } = Promise.withResolvers<void>();
    const { promise: handshake, resolve: onHandshake } = Promise.withResolvers<number>();
    const { supervisor, infos } = createTestSupervisor(script, {
      launch: {
        input: '42',
        waitUntilServing: async (value) => {
          onHandshake(value);
          await mayServe;
        },
      },
      getLogFields: (ready) => ({ answer: ready }),
    });
    const ready = supervisor.waitUntilReady();
    assert.equal(await handshake, 42);
    assert.equal(supervisor.state, 'starting');
    allowServing();
    assert.equal(await ready, 42);
    assert.equal(infos.at(-1)?.answer, 42);
  });

  test('reports the exit of a starting child, and aborts its waitUntilServing', async () => {
    const exits: ChildExit[] = [];
    const aborted: boolean[] = [];
    // The child handles SIGTERM before its handshake, and receives it in waitUntilServing.
    const { supervisor, warnings } = createTestSupervisor(
      `process.on('SIGTERM', () => process.exit(4)); ${LIVE_SCRIPT}`,
      {
        launch: {
          waitUntilServing: (pid, signal) =>
            new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => {
                aborted.push(true);
                reject(new Error('aborted'));
              });
              process.kill(pid, 'SIGTERM');
            }),
          onExit: (exit) => void exits.push(exit),
        },
      },
    );
    await assert.rejects(supervisor.waitUntilReady(), { kind: 'overloaded' });
    assert.deepEqual([exits.length, aborted.length, warnings.length], [3, 3, 3]);
    assert.deepEqual(exits[0], { code: 4, signal: null });
  });

  test('logs the progress of a long start with the last line, without secrets', async () => {
    const { infos } = await (async () => {
      const supervised = createTestSupervisor(`console.error('loading with secret-1'); ${SILENT_SCRIPT}`, {
        times: { progressMs: 20 },
        launch: { secrets: ['secret-1'] },
      });
      supervised.supervisor.waitUntilReady().catch(() => undefined);
      await until('a line was logged', TIMEOUT, async () =>
        supervised.infos.some(({ line }) => line !== undefined) ? true : undefined,
      );
      return supervised;
    })();
    const progress = infos.find(({ line }) => line !== undefined);
    assert.deepEqual([progress?.message, progress?.line], ['engine process is starting', 'loading with [hidden]']);
  });

  test('treats a rejected launch as a failed start', async () => {
    const { supervisor, warnings } = createTestSupervisor('', {});
    await supervisor.stop();
    const failing = createSupervisor<number>(
      { name: 'fake', launch: () => Promise.reject(new Error('no port is free')) },
      { info: () => undefined, warn: (message, fields) => void warnings.push({ message, ...fields }) },
      TIMES,
    );
    supervisors.push(failing);
    await assert.rejects(failing.waitUntilReady(), { kind: 'overloaded' });
    assert.equal(warnings[0]?.error, 'no port is free');
  });

  test('waits longer after each consecutive exit', async () => {
    const { supervisor, infos } = createTestSupervisor(
      "console.log('ready 1'); setTimeout(() => process.exit(0), 10);",
      {
        times: { backoffMsMin: 100, backoffMsMax: 200 },
        getLogFields: () => ({ at: performance.now() }),
      },
    );
    await supervisor.waitUntilReady();
    await until('the child was ready four times', TIMEOUT, async () => (infos.length >= 4 ? true : undefined));
    const times = infos.map((fields) => Number(fields.at));
    assert.ok((times[3] ?? 0) - (times[2] ?? 0) >= 190, String(times));
  });

  test('leaves no child running when its own process is killed', async () => {
    const url = new URL('../../src/engines/supervisor.ts', import.meta.url).href;
    const parent = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        '--input-type=module',
        '-e',
        `import { createSupervisor } from ${JSON.stringify(url)};
         const log = { info() {}, warn() {} };
         const launch = { command: process.execPath, args: ['-e', ${JSON.stringify(LIVE_SCRIPT)}],
           handshake: (line) => /^ready (.*)/.exec(line)?.[1] };
         const spec = { name: 'fake', launch: () => launch };
         console.log(await createSupervisor(spec, log).waitUntilReady());`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [line] = await once(parent.stdout, 'data');
    const child = Number(String(line));
    assert.ok(child > 0);
    parent.kill('SIGKILL');
    await until('the child has exited', TIMEOUT, async () => {
      try {
        process.kill(child, 0);
        return undefined;
      } catch {
        return true;
      }
    });
  });
});
