import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';
import { until } from '../until.ts';

const CHILD = fileURLToPath(new URL('batches-child.ts', import.meta.url));
const PLACE = { region: 'cn-beijing', workspace: 'primary' } as const;

const KILLS = 20;
/** For all of them, in ms: on a slow machine there are fewer. */
const KILLING_MS_MAX = 100_000;

/** From its first word, or from a line of its own, to its end. */
const LIFE_MS_MAX = 700;

const LINES = 2_000;
const LINE_MS = 100;

/** Where so many lines are done, a fast machine could end the batch in one more life. */
const KILLED_LINES_MAX = 1_500;

/** The machine may be busy. */
const WITHIN_MS = 60_000;

interface Server {
  readonly child: ChildProcess;
  readonly url: string;
  readonly key: string;
}

interface Batch {
  readonly id: string;
  readonly status: string;
  readonly output_file_id: string;
  readonly error_file_id: string;
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number };
}

describe('a batch and a service that is killed', () => {
  let data = '';
  let running: ChildProcess | undefined;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-crash-batches-'));
  });
  after(async () => {
    if (running) await end(running, 'SIGKILL');
    await rm(data, { recursive: true });
  });

  async function start(): Promise<Server> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        // Most of a life would be spent on reading the same sources again.
        NODE_COMPILE_CACHE: join(data, 'compile-cache'),
        PARLEY_DATA: data,
        PARLEY_PORT: '0',
        PARLEY_ENGINE_KIND: 'scripted',
        PARLEY_ENGINE_SEQUENCES: '64',
        PARLEY_HUB_URL: 'off',
        PARLEY_LOG_LEVEL: 'fatal',
      },
    });
    running = child;
    const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
    return { child, url, key: (await readFile(join(data, 'key'), 'utf8')).trim() };
  }

  async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  const ask = async (
    { url, key }: Server,
    method: string,
    path: string,
    body?: FormData | object,
  ): Promise<Response> => {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(isForm ? {} : { 'content-type': 'application/json' }) },
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
    });
    assert.equal(answer.status, 200, path);
    return answer;
  };

  /** Each tenth line fails when it is run, each tenth is none. */
  const lineOf = (at: number): string => {
    const custom_id = `line-${at}`;
    if (at % 10 === 3) return JSON.stringify({ custom_id, method: 'GET' });
    const failure = at % 10 === 7 ? ',{"fail":"engine-failed"}' : '';
    const content = `script:[{"delayMs":${LINE_MS}},"answer ${at}"${failure}]`;
    const body = { model: 'svc-plus', messages: [{ role: 'user', content }] };
    return JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body });
  };

  async function create(server: Server): Promise<Batch> {
    const input = Array.from({ length: LINES }, (_, at) => `${lineOf(at)}\n`).join('');
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob([input]), 'in.jsonl');
    const { id } = (await (await ask(server, 'POST', '/files', form)).json()) as { id: string };
    const wish = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' };
    return (await (await ask(server, 'POST', '/batches', wish)).json()) as Batch;
  }

  const promise = 'ends with each line exactly once in its files, exact counts, and exact sums of files';
  it(promise, { timeout: 300_000 }, async () => {
    let server = await start();
    const { id } = await create(server);
    const get = async () => (await (await ask(server, 'GET', `/batches/${id}`)).json()) as Batch;
    const doneOf = ({ request_counts: { completed, failed } }: Batch): number => completed + failed;
    let seen = 0;
    /** Of those: what is no request counts as failed without being run. */
    let ran = 0;
    const killingSince = performance.now();
    const goesOn = (): boolean => seen < KILLED_LINES_MAX && performance.now() - killingSince < KILLING_MS_MAX;
    for (let kill = 0; kill < KILLS && goesOn(); kill += 1) {
      const { child } = server;
      const killed = once(child, 'exit');
      // What does not move on in several lives is given up, and on a busy machine a line may take longer than a life.
      if (kill % 2 === 1)
        await until('a line of this life', { withinMs: WITHIN_MS }, async () =>
          doneOf(await get()) > seen ? true : undefined,
        );
      setTimeout(() => child.kill('SIGKILL'), Math.random() * LIFE_MS_MAX);
      await killed;
      server = await start();
      const batch = await get();
      assert.ok(['validating', 'in_progress'].includes(batch.status), `${batch.status} after ${kill} kills`);
      const done = doneOf(batch);
      assert.ok(done >= seen, 'what was there is there');
      seen = done;
      ran = batch.request_counts.completed;
    }
    assert.ok(ran > 0, 'no line was run between the kills');
    const batch = await until('it has ended', { withinMs: 2 * WITHIN_MS }, async () => {
      const told = await get();
      return ['validating', 'in_progress', 'finalizing'].includes(told.status) ? undefined : told;
    });
    assert.equal(batch.status, 'completed', JSON.stringify(batch));
    assert.deepEqual(batch.request_counts, { total: LINES, completed: 0.8 * LINES, failed: 0.2 * LINES });

    const read = async (file: string) => {
      const content = await (await ask(server, 'GET', `/files/${file}/content`)).text();
      const lines = content.trimEnd().split('\n');
      return lines.map((line) => JSON.parse(line) as { custom_id: string; response: { body: object } | null });
    };
    const [output, errors] = [await read(batch.output_file_id), await read(batch.error_file_id)];
    const numbers = (lines: typeof output) => lines.map(({ custom_id }) => Number(custom_id.split('-')[1]));
    const all = Array.from({ length: LINES }, (_, at) => at);
    const isGood = (at: number): boolean => ![3, 7].includes(at % 10);
    assert.deepEqual(numbers(output), all.filter(isGood));
    assert.deepEqual(
      numbers(errors),
      all.filter((at) => !isGood(at)),
    );
    for (const { custom_id, response } of output)
      assert.match(JSON.stringify(response?.body), new RegExp(`"answer ${custom_id.split('-')[1]}"`));
    await end(server.child, 'SIGTERM');

    const store = await openStore({ dialect: sqliteDialect({ file: join(data, 'parley.db') }) });
    const files = await store.files.list(PLACE, { limit: 100 });
    const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    assert.deepEqual([files.length, await store.fileTotals.look(PLACE)], [3, { files: 3, bytes }]);
    assert.deepEqual(await store.batchLines.done(id, { first: 1, last: LINES }), [], 'its lines are gone');
    assert.equal((await store.jobs.findBySubject('batch', id))?.state, 'done');
    await store.close();
  });
});
