import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../../../catalogue/model.ts';
import { ServiceError } from '../../../../core/error.ts';
import type { ResearchEvent } from '../../research.ts';
import { systemClock } from '../../../../lib/clock.ts';
import { createSseParser } from '../../../../lib/sse.ts';
import { createResearchGenerationHandler } from '../../protocol/endpoint.ts';
import { createTextGenerationEndpoint } from '../../../../protocols/native/generation/endpoint.ts';
import { findPhaseFaults } from '../../protocol/__fixtures__/find-phase-faults.ts';
import {
  createTestCatalogue,
  connectRaw,
  startTestHttp,
  rejectTranslation,
} from '../../../../http/__fixtures__/test-http.ts';

const PATH = '/api/v1/services/aigc/text-generation/generation';

const entry: ModelEntry = {
  ...(await createTestCatalogue().resolve('svc-plus')).entry,
  name: 'svc-deep-research',
  interfaces: ['native', 'research'],
};

type Batches = AsyncIterable<readonly ResearchEvent[]>;

interface TestResearchServer {
  readonly clarify?: (signal: AbortSignal) => Promise<Batches>;
  readonly open?: () => Promise<Batches>;
}

const rejectCall = (): Promise<never> => Promise.reject(new Error('the test does not expect this call'));

/** Starts a server with scripted research. */
const start = ({ clarify = rejectCall, open = rejectCall }: TestResearchServer, keepAliveMs = 10_000) =>
  startTestHttp({
    limits: { keepAliveMs },
    more: [
      createTextGenerationEndpoint({
        generate: rejectCall,
        translate: rejectTranslation,
        handlers: {
          research: createResearchGenerationHandler({
            streamPlan: false,
            research: { clarify: (_request, { signal }) => clarify(signal) },
            runs: { open },
          }),
        },
        catalogue: () => ({ resolve: async (requestedName: string) => ({ requestedName, entry }) }),
        clock: systemClock,
      }),
    ],
  });

const FIRST = [{ role: 'user', content: 'Lighthouses' }];
const SECOND = [...FIRST, { role: 'assistant', content: 'Which?' }, { role: 'user', content: 'All' }];

const request = (messages: readonly object[]): string => {
  const body = JSON.stringify({ model: 'svc-deep-research', input: { messages } });
  const head = ['host: localhost', 'authorization: Bearer sk-good', 'x-svc-sse: enable'];
  return [`POST ${PATH} HTTP/1.1`, ...head, `content-length: ${body.length}`, '', body].join('\r\n');
};

const END: readonly ResearchEvent[] = [
  { type: 'report', text: 'Late.' },
  { type: 'end', reason: 'stop' },
];

/** Parses the SSE frames; removes the response head and the chunk lengths. */
const parseFrames = (text: string) =>
  createSseParser({ sizeMax: 100_000 }).push(
    text.slice(text.indexOf('\r\n\r\n') + 4).replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, ''),
  );

test('sends keep-alive messages with consecutive ids while the run is silent, also before the first event', async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>();
  const { promise: mayFinish, resolve: finish } = Promise.withResolvers<void>();
  async function* batches(): AsyncGenerator<readonly ResearchEvent[]> {
    await go;
    yield [{ type: 'plan-end' }];
    await mayFinish;
    yield END;
  }
  await using server = await start({ open: () => Promise.resolve(batches()) }, 5);
  using peer = connectRaw(server.port, request(SECOND));
  const silent = await peer.readUntil('KeepAlive');
  assert.match(silent, /^HTTP\/1\.1 200 OK/);
  assert.equal(silent.includes('ResearchPlanning'), false);
  resolve();
  const planned = parseFrames(await peer.readUntil('ResearchPlanning')).length;
  // After the plan the run is silent, so the next frames are keep-alive messages.
  await peer.readUntil(`id:${planned + 2}\n`);
  finish();
  const text = await peer.readUntil('"fininshed":true');
  assert.deepEqual(findPhaseFaults(parseFrames(`${text}\n\n`), { step: 2 }), []);
});

test('sends keep-alive messages until the clarifying question starts', async () => {
  const { promise: mayAsk, resolve } = Promise.withResolvers<void>();
  async function* question(): AsyncGenerator<readonly ResearchEvent[]> {
    yield [{ type: 'question', text: 'Which?' }];
    yield [{ type: 'end', reason: 'stop' }];
  }
  const clarify = async (): Promise<Batches> => {
    await mayAsk;
    return question();
  };
  await using server = await start({ clarify }, 5);
  using peer = connectRaw(server.port, request(FIRST));
  assert.match(await peer.readUntil('KeepAlive'), /^HTTP\/1\.1 200 OK/);
  resolve();
  const text = await peer.readUntil('"fininshed":true');
  assert.deepEqual(findPhaseFaults(parseFrames(`${text}\n\n`), { step: 1 }), []);
});

test('answers a rejected run with its status and a later failure with an error event', async () => {
  const full = new ServiceError('rate-limited', 'Two runs at once are enough.');
  const failing: Batches = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(full) }) };
  async function* breaking(): AsyncGenerator<readonly ResearchEvent[]> {
    yield [{ type: 'plan-end' }];
    throw new ServiceError('engine-failed', 'It stopped.');
  }
  for (const open of [() => Promise.reject(full), () => Promise.resolve(failing)]) {
    await using server = await start({ open });
    using peer = connectRaw(server.port, request(SECOND));
    const text = await peer.readUntil('"request_id"');
    assert.match(text, /^HTTP\/1\.1 429 /);
    assert.match(text, /"code":"Throttling.RateQuota"/);
  }
  await using server = await start({ open: () => Promise.resolve(breaking()) });
  using peer = connectRaw(server.port, request(SECOND));
  assert.match(
    await peer.readUntil('It stopped.'),
    /^HTTP\/1\.1 200 [\s\S]*id:1\n[\s\S]*id:2\nevent:error\n:HTTP_STATUS\/500\ndata:\{"code":"InternalError"/,
  );
});

test('cancels the clarifying question when the client disconnects, but only releases the stream of a run', async () => {
  for (const [messages, firstEvent] of [
    [FIRST, { type: 'question', text: 'Which' }],
    [SECOND, { type: 'plan-end' }],
  ] as const) {
    const { promise: released, resolve } = Promise.withResolvers<void>();
    let signal: AbortSignal | undefined;
    const silent: Batches = {
      [Symbol.asyncIterator]() {
        let isFirst = true;
        return {
          next() {
            if (!isFirst) return new Promise(() => undefined);
            isFirst = false;
            return Promise.resolve({ done: false, value: [firstEvent] });
          },
          return() {
            resolve();
            return Promise.resolve({ done: true, value: undefined });
          },
        };
      },
    };
    const clarify = (given: AbortSignal) => {
      signal = given;
      return Promise.resolve(silent);
    };
    await using server = await start({ clarify, open: () => Promise.resolve(silent) });
    using peer = connectRaw(server.port, request(messages));
    await peer.readUntil('"phase"');
    peer.socket.destroy();
    await released;
    assert.equal(signal?.aborted, messages === FIRST ? true : undefined);
  }
});
