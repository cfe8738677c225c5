import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { JOB_LEASE_MS } from '../../src/core/limits.ts';
import { createSseParser } from '../../src/lib/sse.ts';
import { until } from '../until.ts';
import { createServed, READY_MS_MAX, send } from './served.ts';
import type { Served, Server } from './served.ts';

/**
 * So long an answer is in the making, in ms: the process is killed meanwhile, and the next one takes as long. All three have
 * to have begun by then, on a busy machine, too.
 */
const ANSWER_MS = 10_000;

interface Event {
  readonly type: string;
  readonly sequence_number: number;
  readonly response?: { readonly id: string; readonly error: { readonly code: string } | null };
}

describe('responses in the background whose process is killed', () => {
  let data = '';
  let served: Served;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    served = createServed({ data, env: { PARLEY_ENGINE_KIND: 'scripted' } });
  });
  after(async () => {
    await served?.end('SIGKILL');
    await rm(data, { recursive: true });
  });

  const ask = async (server: Server, method: string, path: string, body?: object): Promise<Record<string, unknown>> =>
    (await (await send(server, method, `/v1${path}`, body)).json()) as Record<string, unknown>;
  const create = (server: Server, steps: readonly unknown[], fields: object = {}): Promise<Response> =>
    send(server, 'POST', '/v1/responses', {
      model: 'svc-plus',
      background: true,
      input: `script:${JSON.stringify(steps)}`,
      ...fields,
    });
  const eventsOf = (text: string): Event[] =>
    createSseParser({ sizeMax: 1_000_000 })
      .push(text)
      .map(({ data: json }) => JSON.parse(json) as Event);

  /** On a busy machine they stand between any two events. */
  const withoutKeepAlives = (text: string): string => text.replaceAll(/^:keep-alive\n\n/gm, '');

  /** Reads until an event of this type, and lets the stream break off. @returns whole events. */
  async function readUntil(response: Response, type: string): Promise<string> {
    let text = '';
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (!text.includes(`event:${type}\n`) || !text.endsWith('\n\n')) text += (await reader?.read())?.value ?? '';
    reader?.read().catch(() => undefined);
    return withoutKeepAlives(text);
  }

  it('are made by the next one, each once; what was told in part fails, and says so without a gap', async () => {
    let server = await served.start();
    const { id: conversation } = await ask(server, 'POST', '/conversations', {});
    const answer = ['Hello ', { delayMs: ANSWER_MS }, 'there.'];
    // At once: what comes after the others uses up their time.
    const [plain, silent, told] = await Promise.all([
      create(server, answer, { conversation }).then(async (created) => (await created.json()) as { id: string }),
      create(server, [{ delayMs: ANSWER_MS }, 'Hello there.'], { stream: true }).then((created) =>
        readUntil(created, 'response.in_progress'),
      ),
      create(server, answer, { stream: true }).then((created) => readUntil(created, 'response.output_text.delta')),
    ]);
    const statusOf = async () => (await ask(server, 'GET', `/responses/${plain.id}`))['status'];
    await until('it is being made', { withinMs: READY_MS_MAX }, async () =>
      (await statusOf()) === 'queued' ? undefined : true,
    );
    assert.equal(await statusOf(), 'in_progress');
    await served.end('SIGKILL');

    server = await served.start();
    const readAll = async (path: string): Promise<string> =>
      withoutKeepAlives(await (await send(server, 'GET', `/v1${path}`)).text());
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
