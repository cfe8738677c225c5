import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createCommandServer } from '../../src/engines/command/command-server.ts';
import type {
  CommandServer,
  CommandServerOptions,
  CommandTimes,
  ProgramUp,
} from '../../src/engines/command/command-server.ts';
import type { CommandLine, Place } from '../../src/engines/command/presets.ts';
import { until } from '../until.ts';
import type { ProgramPlan, ProgramSelf } from './__fixtures__/server-program.ts';

const WITHIN = { withinMs: 30_000 };
const PROGRAM = fileURLToPath(new URL('./__fixtures__/server-program.ts', import.meta.url));

const TIMES: Partial<CommandTimes> = { backoffMsMin: 10, backoffMsMax: 40, graceMs: 300, waitMsMax: 60_000 };

const root = realpathSync(mkdtempSync(join(tmpdir(), 'parley-command-')));
const servers: CommandServer[] = [];
after(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(root, { recursive: true });
});

const lineOf =
  (plan: ProgramPlan) =>
  ({ port, apiKey, folder }: Place): CommandLine => ({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', PROGRAM, '--port', `${port}`, '--key-file', join(folder, 'key')],
    environment: { PLAN: JSON.stringify(plan), PROGRAM_KEY: apiKey },
    files: { key: apiKey },
  });

const serve = (plan: ProgramPlan = {}, { times, ...more }: Partial<CommandServerOptions> = {}) => {
  const told: Readonly<Record<string, unknown>>[] = [];
  const runFolder = mkdtempSync(join(root, 'run-'));
  const server = createCommandServer(
    {
      name: 'fake',
      line: lineOf(plan),
      environment: { ...process.env, PARLEY_SECRET: 'ours', UPSTREAM_KEY: 'ours too' },
      runFolder,
      times: { ...TIMES, ...times },
      ...more,
    },
    {
      log: {
        info: (message, facts) => void told.push({ message, ...facts }),
        warn: (message, facts) => void told.push({ message, ...facts }),
      },
    },
  );
  servers.push(server);
  return { server, told, runFolder };
};

const call = (up: ProgramUp, path: string): Promise<Response> =>
  fetch(`${up.url}${path}`, { headers: { authorization: `Bearer ${up.apiKey}` } });

const selfOf = async (up: ProgramUp): Promise<ProgramSelf> => (await (await call(up, '/self')).json()) as ProgramSelf;

/** Zombies count as ended: a container without an init keeps them for ever. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== 'linux') return true;
    return !/^.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** It says no where its guard, or this process itself, stands still for long. */
const untilGone = (server: CommandServer, up: ProgramUp): Promise<true> =>
  until('its end is known', WITHIN, async () => ((await server.gone(up)) ? true : undefined));

const untilEnded = (pids: readonly number[]): Promise<true> =>
  until(`the end of ${pids.join(', ')}`, WITHIN, async () => (pids.some(isRunning) ? undefined : true));

describe('a command server', () => {
  test('starts its program once for all who ask, on a free port with a key of its own, and stops it', async () => {
    const { server, told, runFolder } = serve();
    assert.equal(server.state, 'stopped');
    assert.equal(server.pid, undefined);
    const [up, same] = await Promise.all([server.ready(), server.ready()]);
    assert.equal(up, same);
    assert.match(up.url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.match(up.apiKey, /^[0-9a-f]{64}$/);
    const self = await selfOf(up);
    assert.equal(self.pid, server.pid);
    const line = told.find(({ message }) => message === 'engine process ready');
    assert.deepEqual([line?.program, line?.url], [self.pid, up.url]);
    await server.stop();
    assert.ok(!isRunning(self.pid));
    assert.deepEqual([server.state, server.pid, readdirSync(runFolder)], ['stopped', undefined, []]);
    await assert.rejects(server.ready(), { kind: 'overloaded' });
  });

  test('gives its program what it needs and nothing of ours, and shows the key to no other user', async () => {
    const { server, runFolder } = serve({}, { workingFolder: root });
    const up = await server.ready();
    const { environment, args, workingFolder } = await selfOf(up);
    assert.equal(environment.PATH, process.env.PATH);
    assert.equal(environment.PROGRAM_KEY, up.apiKey);
    assert.ok(!Object.keys(environment).some((name) => name.startsWith('PARLEY_') || name === 'UPSTREAM_KEY'));
    assert.equal(workingFolder, root);
    assert.ok(!args.join(' ').includes(up.apiKey));
    const keyFile = args.at(-1) ?? '';
    assert.equal(readFileSync(keyFile, 'utf8'), up.apiKey);
    assert.deepEqual([statSync(keyFile).mode & 0o777, statSync(join(keyFile, '..')).mode & 0o777], [0o600, 0o700]);
    assert.deepEqual(readdirSync(runFolder).length, 1);
    await server.stop();
  });

  test('waits for a program that loads, and tells once in a while what it said last', async () => {
    const loaded = join(root, 'loaded');
    const { server, told } = serve({ loadsUntil: loaded }, { times: { progressMs: 50 } });
    const ready = server.ready();
    await until('progress was told', WITHIN, async () =>
      told.some(({ message, line }) => message === 'engine process is starting' && line === 'loading')
        ? true
        : undefined,
    );
    assert.equal(server.state, 'starting');
    writeFileSync(loaded, '');
    await ready;
    assert.equal(server.state, 'ready');
    await server.stop();
  });

  test('gives a program up that does not load in time, and its group with it', async () => {
    const { server, told } = serve({ loadsUntil: join(root, 'never'), isDeaf: true }, { times: { startMsMax: 1_500 } });
    const refused = assert.rejects(server.ready(), { kind: 'overloaded' });
    const pid = await until('the program runs', WITHIN, async () => server.pid);
    await refused;
    await untilEnded([pid]);
    assert.equal(told[0]?.message, 'engine process not ready in time');
    await server.stop();
  });

  test('stops also before its program runs, and while it loads', async () => {
    const { server: hasty, runFolder } = serve();
    const refused = assert.rejects(hasty.ready(), { kind: 'overloaded' });
    await hasty.stop();
    await refused;
    assert.deepEqual([hasty.pid, readdirSync(runFolder)], [undefined, []]);
    const { server } = serve({ loadsUntil: join(root, 'never') });
    const waiting = assert.rejects(server.ready(), { kind: 'overloaded' });
    const pid = await until('the program runs', WITHIN, async () => server.pid);
    await server.stop();
    await waiting;
    assert.ok(!isRunning(pid));
  });

  test('refuses at once after three failed starts, has the last lines in the log without the key, and recovers', async () => {
    const repaired = join(root, 'repaired');
    const { server, told } = serve({ crashesUntil: repaired });
    await assert.rejects(server.ready(), { kind: 'overloaded' });
    assert.equal(server.state, 'failing');
    await assert.rejects(server.ready(), { kind: 'overloaded' });
    const ended = told.find(({ message }) => message === 'engine process ended');
    assert.equal(ended?.code, 3);
    assert.match(String(ended?.stderr), /^no memory left for key \[hidden\]\n.*ended: code 3$/s);
    writeFileSync(repaired, '');
    await until('it is repaired', WITHIN, async () => (server.state === 'ready' ? true : undefined));
    await server.stop();
  });

  test('tells of a program that is not there', async () => {
    const command = join(root, 'no-such-program');
    const { server, told, runFolder } = serve({}, { line: () => ({ command, args: [], environment: {} }) });
    await assert.rejects(server.ready(), { kind: 'overloaded' });
    assert.match(String(told[0]?.stderr), /no-such-program could not be started.*ENOENT/);
    await server.stop();
    assert.deepEqual(readdirSync(runFolder), []);
  });

  test('starts a program again that died in mid-answer, at another place with another key', async () => {
    const { server } = serve();
    const first = await server.ready();
    const answer = await call(first, '/die-in-mid-answer');
    await assert.rejects(answer.text());
    await untilGone(server, first);
    const second = await server.ready();
    assert.notEqual(second.apiKey, first.apiKey);
    assert.equal((await call(second, '/self')).status, 200);
    assert.equal(await server.gone(first), true, 'known already');
    await server.stop();
  });

  test('a call that failed says nothing about a program that lives', async () => {
    const { server } = serve();
    const up = await server.ready();
    assert.equal((await call(up, '/fail')).status, 500);
    assert.equal(await server.gone(up), false);
    assert.equal(await server.ready(), up);
    await server.stop();
  });

  test('kills a program that hangs, and starts another', async () => {
    const { server, told } = serve({}, { times: { heartbeatMs: 20, pingMsMax: 1_000, heartbeatsLostMax: 2 } });
    const first = await server.ready();
    const { pid } = await selfOf(first);
    await call(first, '/hang').catch(() => undefined);
    await untilEnded([pid]);
    await untilGone(server, first);
    assert.notEqual(await server.ready(), first);
    assert.ok(told.some(({ message }) => message === 'engine process does not answer'));
    await server.stop();
  });

  test('ends a program that ignores SIGTERM after its time of grace, and all that it has started', async () => {
    const { server } = serve({ isDeaf: true, hasChildren: true });
    const { pid, children } = await selfOf(await server.ready());
    assert.equal(children.length, 2);
    const askedAt = performance.now();
    await server.stop();
    assert.ok(performance.now() - askedAt >= 280);
    await untilEnded([pid, ...children]);
  });

  test('ends what a dead program has started before it starts another', async () => {
    const { server } = serve({ hasChildren: true });
    const first = await server.ready();
    const { pid, children } = await selfOf(first);
    process.kill(pid, 'SIGKILL');
    await untilGone(server, first);
    await server.ready();
    assert.deepEqual(children.filter(isRunning), []);
    await server.stop();
  });

  test('ends a program whose guard was killed', async () => {
    const { server, told } = serve({ hasChildren: true });
    const first = await server.ready();
    const { pid, children } = await selfOf(first);
    process.kill(Number(told.find(({ message }) => message === 'engine process ready')?.pid), 'SIGKILL');
    await untilEnded([pid, ...children]);
    await untilGone(server, first);
    assert.notEqual(await server.ready(), first);
    await server.stop();
  });
});

describe('nothing of a command server stays', () => {
  const url = new URL('../../src/engines/command/command-server.ts', import.meta.url).href;

  /** A process that runs a command server, and whose program listens to no signal. */
  const startParent = async () => {
    const runFolder = mkdtempSync(join(root, 'run-'));
    const place = { port: 0, apiKey: 'KEY', folder: 'FOLDER', host: '' };
    const parent = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        '--input-type=module',
        '-e',
        `import { createCommandServer } from ${JSON.stringify(url)};
         const log = { info() {}, warn() {} };
         const line = ${JSON.stringify(lineOf({ isDeaf: true, hasChildren: true })(place))};
         const server = createCommandServer({
           name: 'fake', runFolder: ${JSON.stringify(runFolder)}, environment: process.env, times: { graceMs: 100 },
           line: ({ port, apiKey }) => ({
             ...line,
             args: line.args.map((word) => (word === '0' ? String(port) : word)),
             environment: { ...line.environment, PROGRAM_KEY: apiKey },
           }),
         }, { log });
         console.log(JSON.stringify(await server.ready()));`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'], detached: true },
    );
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const { pid, children } = await selfOf(JSON.parse(String(line)) as ProgramUp);
    assert.ok(parent.pid !== undefined && pid > 1 && children.length === 2);
    return { parent: parent.pid, pids: [pid, ...children], runFolder };
  };

  for (const [how, aim] of [
    ['whose process is killed', (pid: number) => pid],
    ['whose whole process group is killed', (pid: number) => -pid],
  ] as const)
    test(how, async () => {
      const { parent, pids, runFolder } = await startParent();
      process.kill(aim(parent), 'SIGKILL');
      await untilEnded(pids);
      await until('its folder is gone', WITHIN, async () => (readdirSync(runFolder).length === 0 ? true : undefined));
    });
});
