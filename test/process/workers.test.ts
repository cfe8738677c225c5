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
import { findLogLines } from '../log-lines.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const TIMEOUT = { timeoutMs: 30_000 };

/** Number of connections. The chance that one of two workers gets none of them is 1 in 2^31. */
const CONNECTIONS = 32;

/** The numbers of the two workers. */
const BOTH_WORKERS = new Set([1, 2]);

interface Target {
  readonly address: string;
  readonly key: string;
}

/** Sends a chat request on a new connection, so that any worker may receive it. */
const sendChat = (
  { address, key }: Target,
  content: string,
  more: object = {},
  onFirstData: () => void = () => undefined,
) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const outgoing = request(`${address}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      response.once('data', onFirstData);
      readText(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject);
    });
    outgoing.end(JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content }], ...more }));
  });

const sendManyChats = (target: Target, more: object = {}) =>
  Promise.all(Array.from({ length: CONNECTIONS }, () => sendChat(target, 'Hi', more)));

/** Starts streamed answers, and waits for the first data of each. The caller waits for their ends. */
async function startStreams(parley: Target, { answers, pauseMs }: { answers: number; pauseMs: number }) {
  const started: Promise<void>[] = [];
  const running = Array.from({ length: answers }, () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    started.push(promise);
    return sendChat(parley, `script:["start ",{"delayMs":${pauseMs}},"end"]`, { stream: true }, resolve);
  });
  // If a request is refused, its promise settles first and shows the response.
  await Promise.race([Promise.all(started), Promise.all(running)]);
  return running;
}

/** Returns the process ids of workers that became ready, by worker number, the newest last. */
const getWorkerPids = (parley: Pick<ParleyProcess, 'output'>): Map<unknown, number[]> => {
  const pids = new Map<unknown, number[]>();
  for (const { worker, pid } of findLogLines(parley.output(), 'worker ready'))
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

/** Returns the number of finished chat requests of all workers, with any outcome. */
async function countChats({ address }: Pick<Target, 'address'>): Promise<number> {
  const text = await (await fetch(`${address}/metrics`, { headers: { connection: 'close' } })).text();
  const values = text.matchAll(/^parley_requests_total\{operation="chat-completions.create",.*\} (\d+)$/gm);
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Finds the log lines of chat requests. */
const findChatLogLines = (parley: Pick<ParleyProcess, 'output'>): Record<string, unknown>[] =>
  findLogLines(parley.output(), 'request').filter(({ operation }) => operation === 'chat-completions.create');

/** Polls the metrics, because a worker that does not report in time is included with its last report. */
const waitForStreams = ({ address }: Pick<Target, 'address'>, count: number) =>
  until(`${count} streams`, TIMEOUT, async () => {
    const text = await (await fetch(`${address}/metrics`, { headers: { connection: 'close' } })).text();
    return new RegExp(`^parley_streams_in_flight ${count}$`, 'm').test(text) ? true : undefined;
  });

const startTwoWorkers = (env: Readonly<Record<string, string>> = {}) =>
  startParley({ engine: 'scripted', sequences: 64, asksFirstQuestion: true, env: { PARLEY_WORKERS: '2', ...env } });

/**
 * Starts a service for a test that stops the service itself. Kills the service after the test if it is still running.
 */
async function startForTest(context: TestContext, env: Readonly<Record<string, string>> = {}): Promise<ParleyProcess> {
  const parley = await startTwoWorkers(env);
  context.after(() => isAlive(parley.pid) && process.kill(parley.pid, 'SIGKILL'));
  await waitForFirstAnswer(parley);
  return parley;
}

const waitForFirstAnswer = (parley: ParleyProcess) => parley.waitForOutput(/first after/);

describe('service with two workers', () => {
  let parley: ParleyProcess;
  before(async () => {
    parley = await startTwoWorkers();
    await waitForFirstAnswer(parley);
  });
  after(() => parley.stop());

  test('prints its start once', () => {
    for (const line of ['Listening on', 'engine settings', 'Interfaces', 'Try:'])
      assert.equal(parley.output().split(line).length, 2, line);
    assert.deepEqual(new Set(getWorkerPids(parley).keys()), BOTH_WORKERS);
  });

  test('distributes the requests of one address, and logs the worker of each request', async () => {
    for (const { status } of await sendManyChats(parley)) assert.equal(status, 200);
    const workers = await until('the log lines', TIMEOUT, async () => {
      const lines = findChatLogLines(parley);
      return lines.length > CONNECTIONS ? lines.map(({ worker }) => worker) : undefined;
    });
    assert.deepEqual(new Set(workers), BOTH_WORKERS);
  });

  test('reports the metrics of both workers as a sum, also of running requests', async () => {
    // The service has written one log line for each earlier request by now.
    const earlier = findChatLogLines(parley).length;
    await sendManyChats(parley);
    await until('the sum', TIMEOUT, async () =>
      (await countChats(parley)) === earlier + CONNECTIONS ? true : undefined,
    );
    const caller = new AbortController();
    const streams = Array.from({ length: 6 }, () =>
      fetch(`${parley.baseUrl}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'svc-plus',
          stream: true,
          messages: [{ role: 'user', content: 'script:["one ",{"hang":true}]' }],
        }),
        signal: caller.signal,
      }),
    );
    await Promise.all(streams);
    for (let i = 0; i < 4; i++) await waitForStreams(parley, 6);
    caller.abort();
    await until('the streams have ended', TIMEOUT, async () =>
      (await countChats(parley)) === earlier + CONNECTIONS + 6 ? true : undefined,
    );
  });

  test('accepts new keys and models in both workers, and refuses revoked keys', async () => {
    const runCommand = async (...args: string[]) => {
      const { stdout } = await promisify(execFile)(process.execPath, [
        '--disable-warning=ExperimentalWarning',
        CLI,
        ...args,
      ]);
      return stdout;
    };
    const created = await runCommand('keys', 'create', '--workspace', 'team-a', '--json', '--data', parley.data);
    const { id, key } = JSON.parse(created) as { id: string; key: string };
    const { address, data, baseUrl } = parley;
    for (const { status } of await sendManyChats({ address, key })) assert.equal(status, 200);
    await runCommand('keys', 'revoke', id, '--data', data);
    // Each worker caches a key for 5 s. The time of sending counts, because the response may be slow on a busy machine.
    const revokedAt = performance.now();
    await until('no worker accepts the key', TIMEOUT, async () => {
      const sentMs = performance.now() - revokedAt;
      const answers = await sendManyChats({ address, key });
      const isRefused = answers.every(({ status }) => status === 401);
      assert.ok(isRefused || sentMs < 6_000, `accepted after ${sentMs} ms`);
      return isRefused ? true : undefined;
    });
    await runCommand('models', 'add', 'added-model', '--url', baseUrl, '--upstream-model', 'svc-plus', '--data', data);
    await until('every worker has the model', TIMEOUT, async () => {
      const answers = await sendManyChats(parley, { model: 'added-model' });
      // The server of the model is this service, which refuses the request without a key. Any status but 404 is enough.
      return answers.every(({ status }) => status !== 404) ? true : undefined;
    });
  });

  test('exits when its address is in use, although workers of one service share an address', async () => {
    const { port } = new URL(parley.address);
    const data = await mkdtemp(join(tmpdir(), 'parley-workers-'));
    const secondService = spawnSync(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', CLI, 'serve', '--port', port, '--data', data, '--workers', '2'],
      { encoding: 'utf8', env: { ...process.env, PARLEY_ENGINE_KIND: 'scripted' } },
    );
    await rm(data, { recursive: true });
    assert.equal(secondService.status, 2, secondService.stderr);
    assert.match(secondService.stderr, /Cannot listen on the address: .*EADDRINUSE/);
  });

  test('loses only the connections of a killed worker, and no counter decreases', async () => {
    const [victim = 0] = getWorkerPids(parley).get(1) ?? [];
    let isStopped = false;
    let answered = 0;
    let broken = 0;
    // Until the killed worker has exited, the kernel may give new connections to its socket, and these break too.
    let brokenAfterExit = 0;
    const load = Array.from({ length: 8 }, async () => {
      while (!isStopped) {
        const content = 'script:["start ",{"delayMs":20},"end"]';
        const wasDead = !isAlive(victim);
        const countBroken = (): void => {
          broken++;
          if (wasDead) brokenAfterExit++;
        };
        await sendChat(parley, content, { stream: true }).then(
          ({ text }) => (text.endsWith('data: [DONE]\n\n') ? void answered++ : countBroken()),
          countBroken,
        );
      }
    });
    await until('requests are answered', TIMEOUT, async () => (answered > 100 ? true : undefined));
    const earlier = await countChats(parley);
    process.kill(victim, 'SIGKILL');
    const successor = await until('its successor', TIMEOUT, async () => {
      // Requests to the killed worker fail.
      const total = await countChats(parley).catch(() => earlier);
      assert.ok(total >= earlier, 'a counter decreased');
      return getWorkerPids(parley).get(1)?.[1];
    });
    assert.notEqual(successor, victim);
    const brokenAtReturn = broken;
    const answeredAtReturn = answered;
    await until('requests are answered again', TIMEOUT, async () =>
      answered > answeredAtReturn + 100 ? true : undefined,
    );
    isStopped = true;
    await Promise.all(load);
    assert.equal(broken, brokenAtReturn, 'no connection breaks after the restart');
    assert.equal(brokenAfterExit, 0, 'only connections from before the exit of the worker break');
    await until('the sum', TIMEOUT, async () => ((await countChats(parley)) > earlier + 100 ? true : undefined));
    assert.equal(findLogLines(parley.output(), 'worker exited').length, 1);
    await until('both have served', TIMEOUT, async () => {
      const served = new Set(
        findLogLines(parley.output(), 'request')
          .slice(-100)
          .map(({ worker }) => worker),
      );
      return served.size === BOTH_WORKERS.size ? true : undefined;
    });
  });

  test('replaces a worker that receives SIGTERM after its running answers', async () => {
    const [pid = 0] = getWorkerPids(parley).get(2) ?? [];
    const running = await startStreams(parley, { answers: 16, pauseMs: 1_000 });
    process.kill(pid, 'SIGTERM');
    for (const { text } of await Promise.all(running)) assert.ok(text.endsWith('data: [DONE]\n\n'));
    await until('its successor', TIMEOUT, async () => getWorkerPids(parley).get(2)?.[1]);
    assert.ok(!isAlive(pid));
  });
});

test('finishes the running answers of all workers after SIGTERM, and leaves no process', async (context) => {
  const parley = await startForTest(context);
  const running = await startStreams(parley, { answers: 16, pauseMs: 1_500 });
  const pids = [...getWorkerPids(parley).values()].flat();
  // A terminal sends these to the whole process group. Workers ignore them, because the primary process ends its
  // workers.
  for (const pid of pids) for (const signal of ['SIGINT', 'SIGHUP'] as const) process.kill(pid, signal);
  const stopped = parley.stop();
  for (const { text } of await Promise.all(running)) assert.ok(text.endsWith('data: [DONE]\n\n'));
  await stopped;
  assert.equal(pids.length, 2);
  for (const pid of [parley.pid, ...pids]) assert.ok(!isAlive(pid));
  const countFinished = () =>
    findLogLines(parley.output(), 'request').filter(({ ended: termination }) => termination === 'finished').length;
  // The lines are written, but the test may read them from the pipe after the process has exited.
  await until('the last lines of the workers', TIMEOUT, async () => (countFinished() >= 16 + 1 ? true : undefined));
  assert.equal(countFinished(), 16 + 1);
});

test('ends running answers with an error and exits on a second SIGTERM', async (context) => {
  // Much longer than the timeout of this test.
  const parley = await startForTest(context, { PARLEY_SHUTDOWN_GRACE_MS: '600000' });
  const running = sendChat(parley, 'script:["start ",{"hang":true}]', { stream: true });
  await waitForStreams(parley, 1);
  const pids = [parley.pid, ...[...getWorkerPids(parley).values()].flat()];
  process.kill(parley.pid, 'SIGTERM');
  const firstAt = performance.now();
  await until('the signals count as two', TIMEOUT, async () => performance.now() - firstAt > 700 || undefined);
  process.kill(parley.pid, 'SIGTERM');
  assert.match((await running).text, /data: \{"error":\{[^\n]*shutting down/);
  await until('all processes have exited', TIMEOUT, async () => (pids.some(isAlive) ? undefined : true));
  await assert.rejects(parley.stop());
});

test('ends the workers when their primary process is killed', async (context) => {
  const parley = await startForTest(context);
  const pids = [...getWorkerPids(parley).values()].flat();
  assert.equal(pids.length, 2);
  process.kill(parley.pid, 'SIGKILL');
  await until('the workers have exited', TIMEOUT, async () => (pids.some(isAlive) ? undefined : true));
  await assert.rejects(sendChat(parley, 'Hi'));
  await assert.rejects(parley.stop());
});

test('passes connections to workers where processes cannot share a port, and replaces a worker that hangs', async (context) => {
  const data = await mkdtemp(join(tmpdir(), 'parley-workers-'));
  const formatSourceUrl = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      `import { loadConfig } from ${formatSourceUrl('config/load-config.ts')};
       import { createPrimary } from ${formatSourceUrl('service/workers/primary.ts')};
       const { config } = loadConfig({ flags: {}, env: process.env });
       const service = await createPrimary(config, { environment: process.env, canSharePorts: false, silenceMsMax: 3000 });
       const [{ url }] = await service.listen();
       await service.getFirstKey();
       console.log('listening at ' + url);
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
  const address = await until('the address', TIMEOUT, async () => /listening at (http:\S+)/.exec(output)?.[1]);
  const key = (await readFile(join(data, 'key'), 'utf8')).trim();
  for (const { status } of await sendManyChats({ address, key })) assert.equal(status, 200);
  await until('the log of both', TIMEOUT, async () => {
    const lines = findLogLines(output, 'request');
    return new Set(lines.map(({ worker }) => worker)).size === 2 ? true : undefined;
  });
  const [stoppedPid = 0] = getWorkerPids({ output: () => output }).get(1) ?? [];
  process.kill(stoppedPid, 'SIGSTOP');
  await until('a silent worker is replaced', TIMEOUT, async () => getWorkerPids({ output: () => output }).get(1)?.[1]);
  assert.ok(!isAlive(stoppedPid));
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);
  await rm(data, { recursive: true });
});
