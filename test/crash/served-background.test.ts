import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { JOB_LEASE_MS } from '../../src/core/limits.ts';
import { createSseParser } from '../../src/lib/sse.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
/** The machine may be busy. */
const READY_MS_MAX = 60_000;
/** So long an answer is in the making, in ms: the process is killed meanwhile, and the next one takes as long. */
const ANSWER_MS = 5_000;

interface Server {
  readonly child: ChildProcess;
  readonly url: string;
  readonly key: string;
}

interface Event {
  readonly type: string;
  readonly sequence_number: number;
  readonly response?: { readonly id: string; readonly error: { readonly code: string } | null };
}

describe('responses in the background whose process is killed', () => {
  let data = '';
  let running: ChildProcess | undefined;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-crash-'));
  });
  after(async () => {
    if (running) await kill(running);
    await rm(data, { recursive: true });
  });

  async function start(): Promise<Server> {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', CLI, 'serve', '--port', '0', '--data', data, '--no-first-answer'],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off', PARLEY_LOG_LEVEL: 'error' },
      },
    );
    running = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    const url = await until(`the server is ready\n${output}`, { withinMs: READY_MS_MAX }, async () => {
      assert.equal(child.exitCode ?? child.signalCode, null, output);
      return /Chat completions +on/.test(output) ? /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] : undefined;
    });
    return { child, url, key: (await readFile(join(data, 'key'), 'utf8')).trim() };
  }

  async function kill(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  const send = ({ url, key }: Server, method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${url}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  const ask = async (...args: Parameters<typeof send>): Promise<Record<string, unknown>> =>
    (await (await send(...args)).json()) as Record<string, unknown>;
  const create = (server: Server, steps: readonly unknown[], fields: object = {}): Promise<Response> =>
    send(server, 'POST', '/responses', {
      model: 'svc-plus',
      background: true,
      input: `script:${JSON.stringify(steps)}`,
      ...fields,
    });
  const eventsOf = (text: string): Event[] =>
    createSseParser({ sizeMax: 1_000_000 })
      .push(text)
      .map(({ data: json }) => JSON.parse(json) as Event);

  /** Reads until an event of this type, and lets the stream break off. @returns whole events. */
  async function readUntil(response: Response, type: string): Promise<string> {
    let text = '';
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (!text.includes(`event:${type}\n`) || !text.endsWith('\n\n')) text += (await reader?.read())?.value ?? '';
    reader?.read().catch(() => undefined);
    return text;
  }

  it('are made by the next one, each once; what was told in part fails, and says so without a gap', async () => {
    let server = await start();
    const { id: conversation } = await ask(server, 'POST', '/conversations', {});
    const answer = ['Hello ', { delayMs: ANSWER_MS }, 'there.'];
    const plain = (await (await create(server, answer, { conversation })).json()) as { id: string };
    const silent = await readUntil(
      await create(server, [{ delayMs: ANSWER_MS }, 'Hello there.'], { stream: true }),
      'response.in_progress',
    );
    const told = await readUntil(await create(server, answer, { stream: true }), 'response.output_text.delta');
    assert.equal((await ask(server, 'GET', `/responses/${plain.id}`))['status'], 'in_progress');
    await kill(server.child);

    server = await start();
    const readAll = async (path: string): Promise<string> =>
      (await (await send(server, 'GET', path)).text()).replaceAll(/^:keep-alive\n\n/gm, '');
    const rest = async (before: string): Promise<string> => {
      const [first, last] = [eventsOf(before)[0], eventsOf(before).at(-1)];
      const path = `/responses/${first?.response?.id}?stream=true`;
      const text = await readAll(`${path}&starting_after=${last?.sequence_number}`);
      const whole = await readAll(path);
      assert.equal(before + text, whole);
      const events = eventsOf(whole);
      assert.deepEqual(
        events.map(({ sequence_number: number }) => number),
        events.map((_, index) => index),
      );
      return whole;
    };
    const [broken, whole] = await Promise.all([rest(told), rest(silent)]);
    assert.equal(eventsOf(broken).at(-1)?.type, 'response.failed');
    assert.equal(eventsOf(broken).at(-1)?.response?.error?.code, 'internal_error');
    assert.equal(eventsOf(whole).at(-1)?.type, 'response.completed');

    const withinMs = JOB_LEASE_MS + ANSWER_MS + READY_MS_MAX;
    const done = await until('it is answered', { withinMs }, async () => {
      const response = await ask(server, 'GET', `/responses/${plain.id}`);
      return response['status'] === 'in_progress' || response['status'] === 'queued' ? undefined : response;
    });
    assert.equal(done['status'], 'completed', JSON.stringify(done));
    const items = await ask(server, 'GET', `/conversations/${String(conversation)}/items?order=asc`);
    assert.equal((items['data'] as readonly unknown[]).length, 2);
  });
});
