import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';
import { scaleKills } from '../scale-kills.ts';
import { until } from '../until.ts';

const CHILD = fileURLToPath(new URL('batches-child.ts', import.meta.url));
const SCOPE = { region: 'cn-beijing', workspace: 'primary' } as const;

const KILLS = scaleKills(20);
/** Limit for all kills together, in ms: a slow machine runs fewer of them. */
const KILLING_MS_MAX = 100_000;

/** Longest time from the start of a process, or from a finished line, to its kill, in ms. */
const LIFE_MS_MAX = 700;

const LINES = 2_000;
const LINE_MS = 100;

/** Stops killing at this number of finished lines, so that a fast machine cannot finish the batch between two kills. */
const KILLED_LINES_MAX = 1_500;

/** Generous, because the machine may be busy. */
const WAIT_MS_MAX = 60_000;

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

describe('a batch of a service that is killed repeatedly', () => {
  let data = '';
  let running: ChildProcess | undefined;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-crash-batches-'));
  });
  after(async () => {
    if (running) await stopChild(running, 'SIGKILL');
    await rm(data, { recursive: true });
  });

  async function startServer(): Promise<Server> {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        // Without the cache, a process would spend most of its short life on compiling the same sources.
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(data, 'compile-cache'),
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

  async function stopChild(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  const sendRequest = async (
    { url, key }: Server,
    method: string,
    path: string,
    body?: FormData | object,
  ): Promise<Response> => {
    const isFormData = body instanceof FormData;
    const answer = await fetch(`${url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(isFormData ? {} : { 'content-type': 'application/json' }) },
      ...(body ? { body: isFormData ? body : JSON.stringify(body) } : {}),
    });
    assert.equal(answer.status, 200, path);
    return answer;
  };

  /** Creates the input line with this index. Of ten lines, one fails when it runs and one is not a valid request. */
  const createLine = (at: number): string => {
    const custom_id = `line-${at}`;
    if (at % 10 === 3) return JSON.stringify({ custom_id, method: 'GET' });
    const failure = at % 10 === 7 ? ',{"fail":"engine-failed"}' : '';
    const content = `script:[{"delayMs":${LINE_MS}},"answer ${at}"${failure}]`;
    const body = { model: 'svc-plus', messages: [{ role: 'user', content }] };
    return JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body });
  };

  async function createBatch(server: Server): Promise<Batch> {
    const input = Array.from({ length: LINES }, (_, at) => `${createLine(at)}\n`).join('');
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob([input]), 'in.jsonl');
    const { id } = (await (await sendRequest(server, 'POST', '/files', form)).json()) as { id: string };
    const draft = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' };
    return (await (await sendRequest(server, 'POST', '/batches', draft)).json()) as Batch;
  }

  const TITLE = 'completes with every line exactly once in its files, exact counts and exact file totals';
  it(TITLE, { timeout: 300_000 }, async () => {
    let server = await startServer();
    const { id } = await createBatch(server);
    const get = async () => (await (await sendRequest(server, 'GET', `/batches/${id}`)).json()) as Batch;
    const countDone = ({ request_counts: { completed, failed } }: Batch): number => completed + failed;
    let doneBefore = 0;
    /** Completed lines among them. Invalid lines count as failed without being run. */
    let ranBefore = 0;
    const killingSince = performance.now();
    const shouldContinue = (): boolean =>
      doneBefore < KILLED_LINES_MAX && performance.now() - killingSince < KILLING_MS_MAX;
    for (let kill = 0; kill < KILLS && shouldContinue(); kill += 1) {
      const { child } = server;
      const killed = once(child, 'exit');
      // A job without progress over several lives fails, and on a busy machine a line may take longer than a life.
      if (kill % 2 === 1)
        await until('a line finished since the restart', { timeoutMs: WAIT_MS_MAX }, async () =>
          countDone(await get()) > doneBefore ? true : undefined,
        );
      setTimeout(() => child.kill('SIGKILL'), Math.random() * LIFE_MS_MAX);
      await killed;
      server = await startServer();
      const batch = await get();
      assert.ok(['validating', 'in_progress'].includes(batch.status), `${batch.status} after ${kill} kills`);
      const done = countDone(batch);
      assert.ok(done >= doneBefore, 'no finished line is lost');
      doneBefore = done;
      ranBefore = batch.request_counts.completed;
    }
    assert.ok(ranBefore > 0, 'no line ran between the kills');
    const batch = await until('the batch reaches a final status', { timeoutMs: 2 * WAIT_MS_MAX }, async () => {
      const found = await get();
      return ['validating', 'in_progress', 'finalizing'].includes(found.status) ? undefined : found;
    });
    assert.equal(batch.status, 'completed', JSON.stringify(batch));
    assert.deepEqual(batch.request_counts, { total: LINES, completed: 0.8 * LINES, failed: 0.2 * LINES });

    const read = async (file: string) => {
      const content = await (await sendRequest(server, 'GET', `/files/${file}/content`)).text();
      const lines = content.trimEnd().split('\n');
      return lines.map((line) => JSON.parse(line) as { custom_id: string; response: { body: object } | null });
    };
    const [output, errors] = [await read(batch.output_file_id), await read(batch.error_file_id)];
    const getLineNumbers = (lines: typeof output) => lines.map(({ custom_id }) => Number(custom_id.split('-')[1]));
    const all = Array.from({ length: LINES }, (_, at) => at);
    const isValidLine = (at: number): boolean => ![3, 7].includes(at % 10);
    assert.deepEqual(getLineNumbers(output), all.filter(isValidLine));
    assert.deepEqual(
      getLineNumbers(errors),
      all.filter((at) => !isValidLine(at)),
    );
    for (const { custom_id, response } of output)
      assert.match(JSON.stringify(response?.body), new RegExp(`"answer ${custom_id.split('-')[1]}"`));
    await stopChild(server.child, 'SIGTERM');

    const store = await openStore({ dialect: createSqliteDialect({ file: join(data, 'parley.db') }) });
    const files = await store.files.list(SCOPE, { limit: 100 });
    const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    assert.deepEqual([files.length, await store.fileTotals.getUsage(SCOPE)], [3, { files: 3, bytes }]);
    assert.deepEqual(
      await store.batchLines.listDone(id, { first: 1, last: LINES }),
      [],
      'the temporary results are removed',
    );
    assert.equal((await store.jobs.findBySubject('batch', id))?.state, 'done');
    await store.close();
  });
});
