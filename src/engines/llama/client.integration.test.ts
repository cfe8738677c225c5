import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { EngineRequest } from '../engine.ts';
import { createLlamaClient, type LlamaClient } from './client.ts';
import type { OutputLine } from './protocol.ts';

const REQUEST: EngineRequest = {
  id: 'r',
  owner: { workspace: 'w', key: 'k' },
  input: { type: 'tokens', tokens: [1] },
  sampling: {},
  stop: { strings: [], tokens: [] },
  choices: 1,
  phases: [],
};

const STARTED: OutputLine = { type: 'started', promptTokens: 1, cachedTokens: 0, maxTokens: 9 };
const TOKEN: OutputLine = { type: 'token', choice: 0, phase: 0, id: 97, tokens: 1, text: 'a' };
const LAST: readonly OutputLine[] = [
  { type: 'choice-finished', choice: 0, reason: 'stop' },
  {
    type: 'finished',
    counts: { promptTokens: 1, cachedTokens: 0, completionTokens: 1, thoughtTokens: 0 },
  },
];
const ndjson = (...lines: readonly OutputLine[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

describe('createLlamaClient, when the caller disconnects', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-client-'));
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown): void => void unhandled.push(error);
  let respond: (response: ServerResponse) => void;
  let requestReceived: PromiseWithResolvers<void>;
  const server = createServer((request: IncomingMessage, response) => {
    response.on('error', () => undefined);
    request.resume().on('end', () => {
      requestReceived.resolve();
      respond(response);
    });
  });
  let client: LlamaClient;

  before(async () => {
    process.on('uncaughtException', onUnhandled);
    const socket = join(folder, 'engine.sock');
    server.listen(socket);
    await once(server, 'listening');
    client = createLlamaClient({ socket });
  });
  after(() => {
    client.close();
    server.closeAllConnections();
    server.close();
    process.off('uncaughtException', onUnhandled);
    rmSync(folder, { recursive: true });
  });

  const openCall = (handler: (response: ServerResponse) => void) => {
    respond = handler;
    requestReceived = Promise.withResolvers();
    const caller = new AbortController();
    const leave = (): void => caller.abort(new ServiceError('cancelled', 'gone'));
    return { leave, requestReceived: requestReceived.promise, started: client.generate(REQUEST, caller.signal) };
  };
  const isCanceled = (error: unknown): boolean => error instanceof ServiceError && error.kind === 'cancelled';

  /** Lets sockets emit late errors, asserts that none was unhandled, and makes another call. */
  const assertStillWorks = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await yieldToEventLoop();
    assert.deepEqual(unhandled, []);
    const { started } = openCall((response) => response.end(ndjson(STARTED, TOKEN, ...LAST)));
    const events: EngineEvent[] = [];
    for await (const batch of (await started).batches) events.push(...batch);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['text', 'choice-end', 'end'],
    );
    for (let i = 0; i < 10; i++) await yieldToEventLoop();
    assert.deepEqual(unhandled, []);
  };

  it('survives an abort before the request', async () => {
    const caller = AbortSignal.abort();
    await assert.rejects(client.generate(REQUEST, caller), isCanceled);
    await assertStillWorks();
  });

  it('survives an abort before the request arrives', async () => {
    const { leave, started } = openCall(() => undefined);
    leave();
    await assert.rejects(started, isCanceled);
    await assertStillWorks();
  });

  it('survives an abort before the response head', async () => {
    const gone = Promise.withResolvers<void>();
    const { leave, started, requestReceived } = openCall((response) => void response.on('close', gone.resolve));
    await requestReceived;
    leave();
    await assert.rejects(started, isCanceled);
    await gone.promise;
    await assertStillWorks();
  });

  it('survives an abort between the head and the first line', async () => {
    const { leave, started, requestReceived } = openCall((response) => response.flushHeaders());
    await requestReceived;
    for (let i = 0; i < 5; i++) await yieldToEventLoop();
    leave();
    await assert.rejects(started, isCanceled);
    await assertStillWorks();
  });

  it('survives an abort between two lines, whether the caller reads or not', async () => {
    for (const isReading of [true, false]) {
      const gone = Promise.withResolvers<void>();
      const { leave, started } = openCall((response) => {
        response.on('close', gone.resolve).write(ndjson(STARTED, TOKEN));
      });
      const lines = (await started).batches[Symbol.asyncIterator]();
      assert.equal((await lines.next()).value?.[0]?.type, 'text');
      const next = isReading ? lines.next() : undefined;
      leave();
      if (next) await assert.rejects(next, isCanceled);
      // The server sees the closed connection.
      await gone.promise;
      await assertStillWorks();
    }
  });

  it('survives an abort together with the last line, in the same batch or a separate one', async () => {
    for (const first of [[STARTED], [STARTED, TOKEN], [STARTED, TOKEN, ...LAST]]) {
      for (const turns of [0, 1, 2, 3]) {
        for (const isMicro of [true, false]) {
          let end = (): void => undefined;
          const { leave, started } = openCall((response) => {
            response.write(ndjson(...first));
            end = () => response.end(first.includes(TOKEN) ? ndjson(...LAST) : ndjson(TOKEN, ...LAST));
            if (first.length > 2) end = () => response.end();
            if (isMicro) end();
          });
          const lines = (await started).batches[Symbol.asyncIterator]();
          if (!isMicro) end();
          for (let isEnd = false; !isEnd;) {
            const { value } = await lines.next();
            isEnd = value?.at(-1)?.type === 'end';
          }
          for (let i = 0; i < turns; i++) await (isMicro ? Promise.resolve() : yieldToEventLoop());
          leave();
          await assertStillWorks();
        }
      }
    }
  });

  it('survives an abort after the end', async () => {
    const { leave, started } = openCall((response) => response.end(ndjson(STARTED, TOKEN, ...LAST)));
    for await (const _ of (await started).batches);
    leave();
    await assertStillWorks();
  });

  it('survives an abort while another call uses the same kept-alive connection', async () => {
    const first = openCall((response) => response.end(ndjson(STARTED, TOKEN, ...LAST)));
    for await (const _ of (await first.started).batches);
    const { started } = openCall((response) => {
      response.write(ndjson(STARTED, TOKEN));
      first.leave();
      setImmediate(() => response.end(ndjson(...LAST)));
    });
    for await (const _ of (await started).batches);
    await assertStillWorks();
  });
});
