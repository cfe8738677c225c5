import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { logLines } from '../log-lines.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const WITHIN = { withinMs: 30_000 };

/** So many connections meet every one of two workers, but for one time in 2^31. */
const MANY = 32;

/** The numbers of two workers. */
const BOTH = new Set([1, 2]);

interface Target {
  readonly address: string;
  readonly key: string;
}

/** On a connection of its own, so that any worker may get it. `onBegin` hears of the first words of the answer. */
const ask = ({ address, key }: Target, content: string, more: object = {}, onBegin: () => void = () => undefined) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(`${address}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.once('data', onBegin);
      readText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    sent.end(JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content }], ...more }));
  });

const askMany = (target: Target, more: object = {}) =>
  Promise.all(Array.from({ length: MANY }, () => ask(target, 'Hi', more)));

/** Streamed answers that have all begun; how they end is for the caller to wait for. */
async function beginMany(parley: Target, { answers, pauseMs }: { answers: number; pauseMs: number }) {
  const begun: Promise<void>[] = [];
  const running = Array.from({ length: answers }, () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    begun.push(promise);
    return ask(parley, `script:["begin ",{"delayMs":${pauseMs}},"end"]`, { stream: true }, resolve);
  });
  // Where one is refused, that is what is told.
  await Promise.race([Promise.all(begun), Promise.all(running)]);
  return running;
}

/** Pids of the workers that became ready, by number, the newest last. */
const workersOf = (parley: Pick<ParleyProcess, 'output'>): Map<unknown, number[]> => {
  const pids = new Map<unknown, number[]>();
  for (const { worker, pid } of logLines(parley.output(), 'worker ready'))
    pids.set(worker, [...(pids.get(worker) ?? []), Number(pid)]);
  return pids;
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Finished chat requests of all workers, whatever became of them. */
async function counted({ address }: Pick<Target, 'address'>): Promise<number> {
  const text = await (await fetch(`${address}/metrics`, { headers: { connection: 'close' } })).text();
  const values = text.matchAll(/^parley_requests_total\{operation="chat-completions.create",.*\} (\d+)$/gm);
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Lines of the log about chat requests. */
const loggedChats = (parley: Pick<ParleyProcess, 'output'>): Record<string, unknown>[] =>
  logLines(parley.output(), 'request').filter(({ operation }) => operation === 'chat-completions.create');

/** A worker that does not tell at once is in the sum with what it told last: what it stands at is waited for. */
const untilStreams = ({ address }: Pick<Target, 'address'>, count: number) =>
  until(`${count} streams`, WITHIN, async () => {
    const text = await (await fetch(`${address}/metrics`, { headers: { connection: 'close' } })).text();
    return new RegExp(`^parley_streams_in_flight ${count}$`, 'm').test(text) ? true : undefined;
  });

const startTwo = (env: Readonly<Record<string, string>> = {}) =>
  startParley({ engine: 'scripted', sequences: 64, env: { PARLEY_WORKERS: '2', ...env } });

/** For tests that end it themselves: where they fail before, it ends all the same. */
async function startForOne(context: TestContext, env: Readonly<Record<string, string>> = {}): Promise<ParleyProcess> {
  const parley = await startTwo(env);
  context.after(() => isAlive(parley.pid) && process.kill(parley.pid, 'SIGKILL'));
  await firstAnswerOf(parley);
  return parley;
}

const firstAnswerOf = (parley: ParleyProcess) => parley.outputWith(/first after/);

describe('two workers', () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startTwo();
    await firstAnswerOf(parley);
  });
  after(() => parley.stop());

  test('tell of their start once', () => {
    for (const line of ['Listening on', 'engine settings', 'Interfaces', 'Try:'])
      assert.equal(parley.output().split(line).length, 2, line);
    assert.deepEqual(new Set(workersOf(parley).keys()), BOTH);
  });

  test('share the requests of one address, and each says in the log which were its own', async () => {
    for (const { status } of await askMany(parley)) assert.equal(status, 200);
    const workers = await until('the log lines', WITHIN, async () => {
      const lines = loggedChats(parley);
      return lines.length > MANY ? lines.map(({ worker }) => worker) : undefined;
    });
    assert.deepEqual(new Set(workers), BOTH);
  });

  test('count together: any of them tells the sum, of what runs too', async () => {
    // Of each request there is a line in the log, which every request before this one has had by now.
    const earlier = loggedChats(parley).length;
    await askMany(parley);
    await until('the sum', WITHIN, async () => ((await counted(parley)) === earlier + MANY ? true : undefined));
    const leaving = new AbortController();
    const held = Array.from({ length: 6 }, () =>
      fetch(`${parley.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'svc-plus',
          stream: true,
          messages: [{ role: 'user', content: 'script:["one ",{"hang":true}]' }],
        }),
        signal: leaving.signal,
      }),
    );
    await Promise.all(held);
    for (let i = 0; i < 4; i++) await untilStreams(parley, 6);
    leaving.abort();
    await until('the streams have ended', WITHIN, async () =>
      (await counted(parley)) === earlier + MANY + 6 ? true : undefined,
    );
  });

  test('take keys and models that come, and no key that went', async () => {
    const command = async (...args: string[]) => {
      const { stdout } = await promisify(execFile)(process.execPath, [
        '--disable-warning=ExperimentalWarning',
        CLI,
        ...args,
      ]);
      return stdout;
    };
    const made = await command('keys', 'create', '--workspace', 'team-a', '--json', '--data', parley.data);
    const { id, key } = JSON.parse(made) as { id: string; key: string };
    const { address, data, baseUrl } = parley;
    for (const { status } of await askMany({ address, key })) assert.equal(status, 200);
    await command('keys', 'revoke', id, '--data', data);
    // Each of the workers remembers for 5 s what it saw. A request is late by when it was sent: how soon it was answered is
    // the machine's matter.
    const revokedAt = performance.now();
    await until('no worker takes the key', WITHIN, async () => {
      const sentMs = performance.now() - revokedAt;
      const answers = await askMany({ address, key });
      const isRefused = answers.every(({ status }) => status === 401);
      assert.ok(isRefused || sentMs < 6_000, `taken after ${sentMs} ms`);
      return isRefused ? true : undefined;
    });
    await command('models', 'add', 'house-model', '--url', baseUrl, '--upstream-model', 'svc-plus', '--data', data);
    await until('every worker has the model', WITHIN, async () => {
      const answers = await askMany(parley, { model: 'house-model' });
      // Its server is this one, which wants a key: what matters is that it is asked.
      return answers.every(({ status }) => status !== 404) ? true : undefined;
    });
  });

  test('an address in use is refused, although workers of one service can share it', async () => {
    const { port } = new URL(parley.address);
    const data = await mkdtemp(join(tmpdir(), 'parley-workers-'));
    const other = spawnSync(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', CLI, 'serve', '--port', port, '--data', data, '--workers', '2'],
      { encoding: 'utf8', env: { ...process.env, PARLEY_ENGINE_KIND: 'scripted' } },
    );
    await rm(data, { recursive: true });
    assert.equal(other.status, 2, other.stderr);
    assert.match(other.stderr, /The address cannot be used: .*EADDRINUSE/);
  });

  test('one that is killed takes its own connections with it and nothing else; no counter falls', async () => {
    const [victim = 0] = workersOf(parley).get(1) ?? [];
    let isOver = false;
    let answered = 0;
    let broken = 0;
    // While it is dying, the kernel still hands connections to its socket: who comes then may break again.
    let brokenLate = 0;
    const load = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const content = 'script:["begin ",{"delayMs":20},"end"]';
        const isLate = !isAlive(victim);
        const breaks = (): void => {
          broken++;
          if (isLate) brokenLate++;
        };
        await ask(parley, content, { stream: true }).then(
          ({ text }) => (text.endsWith('data: [DONE]\n\n') ? void answered++ : breaks()),
          breaks,
        );
      }
    });
    await until('both are at work', WITHIN, async () => (answered > 100 ? true : undefined));
    const earlier = await counted(parley);
    process.kill(victim, 'SIGKILL');
    const successor = await until('its successor', WITHIN, async () => {
      // Whoever asks the dying one is told nothing.
      const now = await counted(parley).catch(() => earlier);
      assert.ok(now >= earlier, 'a counter fell');
      return workersOf(parley).get(1)?.[1];
    });
    assert.notEqual(successor, victim);
    const brokenAtReturn = broken;
    const answeredAtReturn = answered;
    await until('the work goes on', WITHIN, async () => (answered > answeredAtReturn + 100 ? true : undefined));
    isOver = true;
    await Promise.all(load);
    assert.equal(broken, brokenAtReturn, 'nothing breaks any more');
    assert.equal(brokenLate, 0, 'only what came to it before its end broke');
    await until('the sum', WITHIN, async () => ((await counted(parley)) > earlier + 100 ? true : undefined));
    assert.equal(logLines(parley.output(), 'worker ended').length, 1);
    await until('both have served', WITHIN, async () => {
      const served = new Set(
        logLines(parley.output(), 'request')
          .slice(-100)
          .map(({ worker }) => worker),
      );
      return served.size === BOTH.size ? true : undefined;
    });
  });

  test('one that is told to end ends what it has begun, and is replaced', async () => {
    const [pid = 0] = workersOf(parley).get(2) ?? [];
    const running = await beginMany(parley, { answers: 16, pauseMs: 1_000 });
    process.kill(pid, 'SIGTERM');
    for (const { text } of await Promise.all(running)) assert.ok(text.endsWith('data: [DONE]\n\n'));
    await until('its successor', WITHIN, async () => workersOf(parley).get(2)?.[1]);
    assert.ok(!isAlive(pid));
  });
});

test('SIGTERM lets the running answers of all workers end, and leaves no process behind', async (context) => {
  const parley = await startForOne(context);
  const running = await beginMany(parley, { answers: 16, pauseMs: 1_500 });
  const pids = [...workersOf(parley).values()].flat();
  // A terminal tells them to its whole process group; what becomes of the workers is for the primary to say.
  for (const pid of pids) for (const signal of ['SIGINT', 'SIGHUP'] as const) process.kill(pid, signal);
  const stopped = parley.stop();
  for (const { text } of await Promise.all(running)) assert.ok(text.endsWith('data: [DONE]\n\n'));
  await stopped;
  assert.equal(pids.length, 2);
  for (const pid of [parley.pid, ...pids]) assert.ok(!isAlive(pid));
  const ended = () => logLines(parley.output(), 'request').filter(({ ended: how }) => how === 'finished').length;
  // They are written; what came through the pipe is read behind the end of the process.
  await until('the last lines of the workers', WITHIN, async () => (ended() >= 16 + 1 ? true : undefined));
  assert.equal(ended(), 16 + 1);
});

test('a second signal ends all at once', async (context) => {
  // Far longer than is waited for.
  const parley = await startForOne(context, { PARLEY_SHUTDOWN_GRACE_MS: '600000' });
  const broken = assert.rejects(ask(parley, 'script:["begin ",{"hang":true}]', { stream: true }));
  await untilStreams(parley, 1);
  const pids = [parley.pid, ...[...workersOf(parley).values()].flat()];
  process.kill(parley.pid, 'SIGTERM');
  await until('all have ended', WITHIN, async () => {
    if (isAlive(parley.pid)) process.kill(parley.pid, 'SIGTERM');
    return pids.some(isAlive) ? undefined : true;
  });
  await broken;
  await assert.rejects(parley.stop());
});

test('workers end with their primary, also where that is killed', async (context) => {
  const parley = await startForOne(context);
  const pids = [...workersOf(parley).values()].flat();
  assert.equal(pids.length, 2);
  process.kill(parley.pid, 'SIGKILL');
  await until('the workers have ended', WITHIN, async () => (pids.some(isAlive) ? undefined : true));
  await assert.rejects(ask(parley, 'Hi'));
  await assert.rejects(parley.stop());
});

test('where processes cannot share a port, the primary hands connections on; a worker that hangs is replaced', async (context) => {
  const data = await mkdtemp(join(tmpdir(), 'parley-workers-'));
  const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      `import { loadConfig } from ${source('config/load-config.ts')};
       import { createPrimary } from ${source('service/workers/primary.ts')};
       const { config } = loadConfig({ flags: {}, env: process.env });
       const service = await createPrimary(config, { environment: process.env, canSharePorts: false, silenceMsMax: 3000 });
       const [{ url }] = await service.listen();
       await service.firstKey();
       console.log('at ' + url);
       process.on('SIGTERM', () => void service.close().then(() => process.exit(0)));`,
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PARLEY_DATA: data, PARLEY_PORT: '0', PARLEY_WORKERS: '2', PARLEY_ENGINE_KIND: 'scripted' },
    },
  );
  context.after(() => child.exitCode ?? child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const address = await until('the address', WITHIN, async () => /at (http:\S+)/.exec(output)?.[1]);
  const key = (await readFile(join(data, 'key'), 'utf8')).trim();
  for (const { status } of await askMany({ address, key })) assert.equal(status, 200);
  await until('the log of both', WITHIN, async () => {
    const lines = logLines(output, 'request');
    return new Set(lines.map(({ worker }) => worker)).size === 2 ? true : undefined;
  });
  const [silent = 0] = workersOf({ output: () => output }).get(1) ?? [];
  process.kill(silent, 'SIGSTOP');
  await until('a silent worker is replaced', WITHIN, async () => workersOf({ output: () => output }).get(1)?.[1]);
  assert.ok(!isAlive(silent));
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);
  await rm(data, { recursive: true });
});
