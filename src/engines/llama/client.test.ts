import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { EngineRequest } from '../engine.ts';
import { createLlamaClient } from './client.ts';
import type { LlamaClient } from './client.ts';
import type { Line } from './protocol.ts';

const REQUEST: EngineRequest = {
  id: 'r',
  owner: { workspace: 'w', key: 'k' },
  input: { type: 'tokens', tokens: [1] },
  sampling: {},
  stop: { strings: [], tokens: [] },
  choices: 1,
  phases: [],
};

const STARTED: Line = { type: 'started', promptTokens: 1, cachedTokens: 0, maxTokens: 9 };
const TOKEN: Line = { type: 'token', choice: 0, phase: 0, id: 97, tokens: 1, text: 'a' };
const LAST: readonly Line[] = [
  { type: 'choice-finished', choice: 0, reason: 'stop' },
  {
    type: 'finished',
    counts: { promptTokens: 1, cachedTokens: 0, completionTokens: 1, thoughtTokens: 0 },
    timings: { queueMs: 0, prefillMs: 0, decodeMs: 0 },
  },
];
const ndjson = (...lines: readonly Line[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

describe('the client of the engine process, when its caller leaves', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-client-'));
  const unheard: unknown[] = [];
  const onUnheard = (error: unknown): void => void unheard.push(error);
  let play: (response: ServerResponse) => void;
  let asked: PromiseWithResolvers<void>;
  const server = createServer((request: IncomingMessage, response) => {
    response.on('error', () => undefined);
    request.resume().on('end', () => {
      asked.resolve();
      play(response);
    });
  });
  let client: LlamaClient;

  before(async () => {
    process.on('uncaughtException', onUnheard);
    const socket = join(folder, 'engine.sock');
    server.listen(socket);
    await once(server, 'listening');
    client = createLlamaClient({ socket });
  });
  after(() => {
    client.close();
    server.closeAllConnections();
    server.close();
    process.off('uncaughtException', onUnheard);
    rmSync(folder, { recursive: true });
  });

  const open = (how: (response: ServerResponse) => void) => {
    play = how;
    asked = Promise.withResolvers();
    const caller = new AbortController();
    const leave = (): void => caller.abort(new ServiceError('cancelled', 'gone'));
    return { leave, asked: asked.promise, started: client.generate(REQUEST, caller.signal) };
  };
  const isCancelled = (error: unknown): boolean => error instanceof ServiceError && error.kind === 'cancelled';

  /** Sockets had their turns to say what is wrong, nothing was unheard, and the next call is answered. */
  const goesOn = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await turn();
    assert.deepEqual(unheard, []);
    const { started } = open((response) => response.end(ndjson(STARTED, TOKEN, ...LAST)));
    const events: EngineEvent[] = [];
    for await (const batch of (await started).batches) events.push(...batch);
    assert.deepEqual(
      events.map(({ type }) => type),
      ['text', 'choice-end', 'end'],
    );
    for (let i = 0; i < 10; i++) await turn();
    assert.deepEqual(unheard, []);
  };

  it('before it asked', async () => {
    const caller = AbortSignal.abort();
    await assert.rejects(client.generate(REQUEST, caller), isCancelled);
    await goesOn();
  });

  it('before the question arrived', async () => {
    const { leave, started } = open(() => undefined);
    leave();
    await assert.rejects(started, isCancelled);
    await goesOn();
  });

  it('before the head', async () => {
    const gone = Promise.withResolvers<void>();
    const { leave, started, asked } = open((response) => void response.on('close', gone.resolve));
    await asked;
    leave();
    await assert.rejects(started, isCancelled);
    await gone.promise;
    await goesOn();
  });

  it('between the head and the first line', async () => {
    const { leave, started, asked } = open((response) => response.flushHeaders());
    await asked;
    for (let i = 0; i < 5; i++) await turn();
    leave();
    await assert.rejects(started, isCancelled);
    await goesOn();
  });

  it('between two lines, whether it reads or not', async () => {
    for (const isReading of [true, false]) {
      const gone = Promise.withResolvers<void>();
      const { leave, started } = open((response) => {
        response.on('close', gone.resolve).write(ndjson(STARTED, TOKEN));
      });
      const lines = (await started).batches[Symbol.asyncIterator]();
      assert.equal((await lines.next()).value?.[0]?.type, 'text');
      const next = isReading ? lines.next() : undefined;
      leave();
      if (next) await assert.rejects(next, isCancelled);
      // The engine hears of it, and lets go of the sequence.
      await gone.promise;
      await goesOn();
    }
  });

  it('with the last line, so many turns later, in a batch with the others or in one of its own', async () => {
    for (const first of [[STARTED], [STARTED, TOKEN], [STARTED, TOKEN, ...LAST]]) {
      for (const turns of [0, 1, 2, 3]) {
        for (const isMicro of [true, false]) {
          let end = (): void => undefined;
          const { leave, started } = open((response) => {
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
          for (let i = 0; i < turns; i++) await (isMicro ? Promise.resolve() : turn());
          leave();
          await goesOn();
        }
      }
    }
  });

  it('after the end', async () => {
    const { leave, started } = open((response) => response.end(ndjson(STARTED, TOKEN, ...LAST)));
    for await (const _ of (await started).batches);
    leave();
    await goesOn();
  });

  it('while a call of its own still runs on the same kept connection', async () => {
    const first = open((response) => response.end(ndjson(STARTED, TOKEN, ...LAST)));
    for await (const _ of (await first.started).batches);
    const { started } = open((response) => {
      response.write(ndjson(STARTED, TOKEN));
      first.leave();
      setImmediate(() => response.end(ndjson(...LAST)));
    });
    for await (const _ of (await started).batches);
    await goesOn();
  });
});
