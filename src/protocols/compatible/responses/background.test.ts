import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { systemClock } from '../../../lib/clock.ts';
import { createSseParser } from '../../../lib/sse.ts';
import type { BackgroundRequest, StatusChange } from '../../../resources/responses/background.ts';
import { parseBody } from '../../parse.ts';
import { encodeQueued } from './encode.ts';
import { enqueueResponse } from './enqueue-response.ts';
import { encodeRequestFields } from './head.ts';
import { checkResponseRules } from './rules.ts';
import { ResponseBody } from './schema.ts';
import { encodeStateEvent } from './state-event.ts';
import { createResponseStreamEncoder } from './stream.ts';
import { createTailStreamEncoder } from './tail-stream.ts';
import { encodeChange } from './encode-change.ts';

// GOLDEN=1 rewrites the expected bytes.
const GOLDEN = join(import.meta.dirname, '__fixtures__', 'background.sse');

const { wire } = parseBody(ResponseBody, { model: 'm', input: 'Hi \u2028', background: true, stream: true });
const head = {
  id: 'resp_0123456789abcdef0123456789abcdef',
  created: 1771165900,
  model: 'm',
  requestFields: encodeRequestFields(wire, { sampling: { temperature: 0.7 } }),
};
const queued = JSON.stringify(
  encodeQueued({ ...head, requestFields: { ...head.requestFields, instructions: 'line\u2028end' } }),
);
const FAILURE = new ServiceError('engine-failed', 'The process\nended.');

const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runner: { type: 'none', reason: '' },
  contextTokens: 100,
  abilities: {},
  interfaces: ['responses'],
  sampling: {},
  created: 0,
};
const TURN = {
  input: [],
  droppableTurns: 0,
  withoutOldestTurns: () => assert.fail('nothing is generated'),
  countDroppedItems: () => 0,
};
const CONTEXT: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

const createEvent = (text: string) => {
  const [frame] = createSseParser({ sizeMax: 1e6 }).push(text);
  assert.ok(frame);
  return { ...frame, data: JSON.parse(frame.data) as Record<string, unknown> };
};

describe('background responses', () => {
  test('encode golden events while queued, started, cancelled and failed', () => {
    const encoded = [
      encodeStateEvent('response.created', queued, 0),
      encodeStateEvent('response.queued', queued, 1),
      encodeChange(queued, { status: 'in_progress' }, 2).event,
      encodeChange(queued, { status: 'cancelled' }, 3).event,
      encodeChange(queued, { status: 'failed', error: FAILURE }, 4).event,
    ].join('');
    if (process.env['GOLDEN'] === '1' || !existsSync(GOLDEN)) writeFileSync(GOLDEN, encoded);
    assert.equal(encoded, readFileSync(GOLDEN, 'utf8'));
  });

  test('contain the same object in the event and when retrieved', () => {
    for (const change of [
      { status: 'in_progress' },
      { status: 'cancelled' },
      { status: 'failed', error: FAILURE },
    ] satisfies StatusChange[]) {
      const { json, event } = encodeChange(queued, change, 7);
      const { data, id } = createEvent(event);
      assert.deepEqual(data['response'], JSON.parse(json));
      assert.deepEqual([data['sequence_number'], id, Object(data['response']).status], [7, '8', change.status]);
    }
  });

  test('continue with the events of a live response after those already sent', () => {
    const live = createResponseStreamEncoder(head);
    const later = createResponseStreamEncoder(head, { startSequence: 2 });
    const events = [
      { type: 'start', inputTokens: 1, cachedTokens: 0 },
      { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } },
      { type: 'block-delta', choice: 0, index: 0, text: 'Hello' },
    ] as const;
    const whole = live.push(events) + live.fail(FAILURE);
    assert.equal(whole.slice(whole.indexOf('id:3\n')), later.push(events) + later.fail(FAILURE));
  });

  test('store the request without credentials of tool servers', async () => {
    const tools = [
      { type: 'mcp', server_url: 'https://tools.example', headers: { a: 'hidden' }, authorization: 'hidden' },
      { type: 'function', name: 'f', parameters: { type: 'object' } },
    ];
    const body = { model: 'm', input: 'Hi', background: true, made_up: 7 };
    const enqueued: BackgroundRequest[] = [];
    for (const requestBody of [body, { ...body, tools }]) {
      const read = parseBody(ResponseBody, requestBody);
      await enqueueResponse(
        {
          id: 'resp_1',
          body: requestBody,
          request: {
            wire: read.wire,
            resolved: { requestedName: 'm', entry: ENTRY },
            turnRequest: {},
            prepareTurn: async () => ({ ...TURN, listIgnored: () => [] }),
          },
        },
        {
          background: {
            checkTurn: async () => ({ history: [], olderItems: 0 }),
            enqueue: async (_, backgroundRequest) => void enqueued.push(backgroundRequest),
            tail: () => assert.fail('it is not streamed'),
          },
          clock: systemClock,
        },
        CONTEXT,
      );
    }
    assert.doesNotMatch(JSON.stringify(enqueued), /hidden/);
    const [plain, withTools] = enqueued.map(({ body: text }) => JSON.parse(text) as Record<string, unknown>);
    assert.deepEqual(plain, body);
    const [mcp, named] = tools;
    const open = { type: mcp?.type, server_url: mcp?.server_url };
    assert.deepEqual(withTools, { ...body, tools: [open, named] });
  });

  test('require store', () => {
    const rules = (fields: object) => () =>
      checkResponseRules(parseBody(ResponseBody, { model: 'm', input: 'Hi', ...fields }).wire);
    assert.throws(rules({ background: true, store: false }), { kind: 'invalid-request', param: 'store' });
    for (const fields of [{ background: true }, { background: true, store: true }, { background: null, store: false }])
      rules(fields)();
  });
});

describe('tail stream', () => {
  test('passes events on unchanged and adds no end mark', () => {
    const encoder = createTailStreamEncoder(-1);
    assert.equal(encoder.open() + encoder.push(['a\n\n', 'b\n\n']) + encoder.push([]) + encoder.close(), 'a\n\nb\n\n');
    assert.match(encoder.keepAlive(), /^:/);
  });

  test('fails with the sequence number of the last event, from which a reader can continue', () => {
    const encoder = createTailStreamEncoder(-1);
    encoder.push([
      encodeStateEvent('response.created', queued, 0),
      encodeChange(queued, { status: 'in_progress' }, 41).event,
    ]);
    const { event, data } = createEvent(encoder.fail(new ServiceError('not-found', 'gone\u2028')));
    const expected = { type: 'error', code: 'not_found', message: 'gone\u2028', param: null, sequence_number: 41 };
    assert.deepEqual([event, data], ['error', expected]);
    for (const [after, number] of [
      [-1, 0],
      [7, 7],
    ] as const)
      assert.equal(createEvent(createTailStreamEncoder(after).fail(FAILURE)).data['sequence_number'], number);
  });
});
