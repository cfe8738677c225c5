import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { JOB_LEASE_MS } from '../../src/jobs/limits.ts';
import { createSseParser } from '../../src/lib/sse.ts';
import { until } from '../until.ts';
import { createRestartableServer, READY_MS_MAX, send } from './restartable-server.ts';
import type { RestartableServer, RunningServer } from './restartable-server.ts';

/**
 * Duration of an answer, in ms: the process is killed meanwhile, and the next process needs as long. Long enough that
 * all three answers start before the kill, also on a busy machine.
 */
const ANSWER_MS = 10_000;

interface ResponseEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly response?: { readonly id: string; readonly error: { readonly code: string } | null };
}

describe('background responses of a server that is killed', () => {
  let data = '';
  let testServer: RestartableServer;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    testServer = createRestartableServer({ data, env: { PARLEY_ENGINE_KIND: 'scripted' } });
  });
  after(async () => {
    await testServer?.stop('SIGKILL');
    await rm(data, { recursive: true });
  });

  const sendRequest = async (
    server: RunningServer,
    method: string,
    path: string,
    body?: object,
  ): Promise<Record<string, unknown>> =>
    (await (await send(server, method, `/v1${path}`, body)).json()) as Record<string, unknown>;
  const createResponse = (server: RunningServer, steps: readonly unknown[], fields: object = {}): Promise<Response> =>
    send(server, 'POST', '/v1/responses', {
      model: 'svc-plus',
      background: true,
      input: `script:${JSON.stringify(steps)}`,
      ...fields,
    });
  const parseEvents = (text: string): ResponseEvent[] =>
    createSseParser({ sizeMax: 1_000_000 })
      .push(text)
      .map(({ data: json }) => JSON.parse(json) as ResponseEvent);

  /** Removes keep-alive comments, which may occur between any two events on a busy machine. */
  const withoutKeepAlives = (text: string): string => text.replaceAll(/^:keep-alive\n\n/gm, '');

  /** Reads whole events until one of this type and then ignores the rest of the stream. */
  async function readUntil(response: Response, type: string): Promise<string> {
    let text = '';
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    while (!text.includes(`event:${type}\n`) || !text.endsWith('\n\n')) text += (await reader?.read())?.value ?? '';
    reader?.read().catch(() => undefined);
    return withoutKeepAlives(text);
  }

  it('are answered once by the next process; a partly streamed response fails without a gap in its events', async () => {
    let server = await testServer.start();
    const { id: conversation } = await sendRequest(server, 'POST', '/conversations', {});
    const answer = ['Hello ', { delayMs: ANSWER_MS }, 'there.'];
    // Starts all at once, because each delay would take time from the others.
    const [unstreamed, withoutText, withText] = await Promise.all([
      createResponse(server, answer, { conversation }).then(
        async (created) => (await created.json()) as { id: string },
      ),
      createResponse(server, [{ delayMs: ANSWER_MS }, 'Hello there.'], { stream: true }).then((created) =>
        readUntil(created, 'response.in_progress'),
      ),
      createResponse(server, answer, { stream: true }).then((created) =>
        readUntil(created, 'response.output_text.delta'),
      ),
    ]);
    const getStatus = async () => (await sendRequest(server, 'GET', `/responses/${unstreamed.id}`))['status'];
    await until('the response is in progress', { timeoutMs: READY_MS_MAX }, async () =>
      (await getStatus()) === 'queued' ? undefined : true,
    );
    assert.equal(await getStatus(), 'in_progress');
    await testServer.stop('SIGKILL');

    server = await testServer.start();
    const readAll = async (path: string): Promise<string> =>
      withoutKeepAlives(await (await send(server, 'GET', `/v1${path}`)).text());
    const readRest = async (before: string): Promise<string> => {
      const [first, last] = [parseEvents(before)[0], parseEvents(before).at(-1)];
      const path = `/responses/${first?.response?.id}?stream=true`;
      const text = await readAll(`${path}&starting_after=${last?.sequence_number}`);
      const whole = await readAll(path);
      assert.equal(before + text, whole);
      const events = parseEvents(whole);
      assert.deepEqual(
        events.map(({ sequence_number: number }) => number),
        events.map((_, index) => index),
      );
      return whole;
    };
    const [failed, completed] = await Promise.all([readRest(withText), readRest(withoutText)]);
    assert.equal(parseEvents(failed).at(-1)?.type, 'response.failed');
    assert.equal(parseEvents(failed).at(-1)?.response?.error?.code, 'internal_error');
    assert.equal(parseEvents(completed).at(-1)?.type, 'response.completed');

    const timeoutMs = JOB_LEASE_MS + ANSWER_MS + READY_MS_MAX;
    const done = await until('the response finishes', { timeoutMs }, async () => {
      const response = await sendRequest(server, 'GET', `/responses/${unstreamed.id}`);
      return response['status'] === 'in_progress' || response['status'] === 'queued' ? undefined : response;
    });
    assert.equal(done['status'], 'completed', JSON.stringify(done));
    const items = await sendRequest(server, 'GET', `/conversations/${String(conversation)}/items?order=asc`);
    assert.equal((items['data'] as readonly unknown[]).length, 2);
  });
});
