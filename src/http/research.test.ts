import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { ResearchEvent } from '../core/research.ts';
import { systemClock } from '../lib/clock.ts';
import { createSseParser } from '../lib/sse.ts';
import { textGeneration } from '../protocols/native/generation/endpoint.ts';
import { checkPhases } from '../protocols/native/research/__fixtures__/check-phases.ts';
import { catalogue, connectRaw, startHttp, untranslated } from './__fixtures__/test-http.ts';

const PATH = '/api/v1/services/aigc/text-generation/generation';

const entry: ModelEntry = {
  ...catalogue().resolve('svc-plus').entry,
  name: 'svc-deep-research',
  interfaces: ['native', 'research'],
};

type Batches = AsyncIterable<readonly ResearchEvent[]>;

interface Played {
  readonly clarify?: (signal: AbortSignal) => Promise<Batches>;
  readonly open?: () => Promise<Batches>;
}

const unasked = (): Promise<never> => Promise.reject(new Error('this is not asked for'));

/** A front that does research as it is played. */
const start = ({ clarify = unasked, open = unasked }: Played, keepAliveMs = 10_000) =>
  startHttp({
    limits: { keepAliveMs },
    more: [
      textGeneration({
        generate: unasked,
        translate: untranslated,
        research: {
          streamPlan: false,
          research: { clarify: (_request, { signal }) => clarify(signal) },
          runs: { open },
        },
        catalogue: () => ({ resolve: (asked: string) => ({ asked, entry }) }),
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

/** Without the head and the chunks' lengths. */
const framesOf = (text: string) =>
  createSseParser({ sizeMax: 100_000 }).push(
    text.slice(text.indexOf('\r\n\r\n') + 4).replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, ''),
  );

test('silence is filled with messages, before the first event too, and ids count on', async () => {
  const { promise: go, resolve } = Promise.withResolvers<void>();
  const { promise: further, resolve: goOn } = Promise.withResolvers<void>();
  async function* batches(): AsyncGenerator<readonly ResearchEvent[]> {
    await go;
    yield [{ type: 'plan-end' }];
    await further;
    yield END;
  }
  await using front = await start({ open: () => Promise.resolve(batches()) }, 5);
  using peer = connectRaw(front.port, request(SECOND));
  const silent = await peer.until('KeepAlive');
  assert.match(silent, /^HTTP\/1\.1 200 OK/);
  assert.equal(silent.includes('ResearchPlanning'), false);
  resolve();
  const planned = framesOf(await peer.until('ResearchPlanning')).length;
  // What comes behind the plan comes of silence.
  await peer.until(`id:${planned + 2}\n`);
  goOn();
  const text = await peer.until('"fininshed":true');
  assert.deepEqual(checkPhases(framesOf(`${text}\n\n`), { step: 2 }), []);
});

test('a question that the model is long in asking is waited for with messages', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  async function* question(): AsyncGenerator<readonly ResearchEvent[]> {
    yield [{ type: 'question', text: 'Which?' }];
    yield [{ type: 'end', reason: 'stop' }];
  }
  const clarify = async (): Promise<Batches> => {
    await asked;
    return question();
  };
  await using front = await start({ clarify }, 5);
  using peer = connectRaw(front.port, request(FIRST));
  assert.match(await peer.until('KeepAlive'), /^HTTP\/1\.1 200 OK/);
  resolve();
  const text = await peer.until('"fininshed":true');
  assert.deepEqual(checkPhases(framesOf(`${text}\n\n`), { step: 1 }), []);
});

test('what is refused has its own status, and what fails later is told in the stream', async () => {
  const full = new ServiceError('rate-limited', 'Two runs at once are enough.');
  const failing: Batches = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(full) }) };
  async function* breaking(): AsyncGenerator<readonly ResearchEvent[]> {
    yield [{ type: 'plan-end' }];
    throw new ServiceError('engine-failed', 'It stopped.');
  }
  for (const open of [() => Promise.reject(full), () => Promise.resolve(failing)]) {
    await using front = await start({ open });
    using peer = connectRaw(front.port, request(SECOND));
    const text = await peer.until('"request_id"');
    assert.match(text, /^HTTP\/1\.1 429 /);
    assert.match(text, /"code":"Throttling.RateQuota"/);
  }
  await using front = await start({ open: () => Promise.resolve(breaking()) });
  using peer = connectRaw(front.port, request(SECOND));
  assert.match(
    await peer.until('It stopped.'),
    /^HTTP\/1\.1 200 [\s\S]*id:1\n[\s\S]*id:2\nevent:error\n:HTTP_STATUS\/500\ndata:\{"code":"InternalError"/,
  );
});

test('who leaves cancels a question, and only lets go of a run', async () => {
  for (const [messages, begun] of [
    [FIRST, { type: 'question', text: 'Which' }],
    [SECOND, { type: 'plan-end' }],
  ] as const) {
    const { promise: left, resolve } = Promise.withResolvers<void>();
    let signal: AbortSignal | undefined;
    const silent: Batches = {
      [Symbol.asyncIterator]() {
        let isFirst = true;
        return {
          next() {
            if (!isFirst) return new Promise(() => undefined);
            isFirst = false;
            return Promise.resolve({ done: false, value: [begun] });
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
    await using front = await start({ clarify, open: () => Promise.resolve(silent) });
    using peer = connectRaw(front.port, request(messages));
    await peer.until('"phase"');
    peer.socket.destroy();
    await left;
    assert.equal(signal?.aborted, messages === FIRST ? true : undefined);
  }
});
