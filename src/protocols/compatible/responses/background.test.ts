import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { systemClock } from '../../../lib/clock.ts';
import { createSseParser } from '../../../lib/sse.ts';
import type { BackgroundWish, Change } from '../../../resources/responses/background.ts';
import { parseBody } from '../../parse.ts';
import { encodeQueued } from './encode.ts';
import { enqueue } from './enqueue.ts';
import { askedFields } from './head.ts';
import { checkRules } from './rules.ts';
import { ResponseBody } from './schema.ts';
import { stateEvent } from './state-event.ts';
import { responseStream } from './stream.ts';
import { tailStream } from './tail-stream.ts';
import { tellChange } from './tell-change.ts';

// GOLDEN=1 writes the bytes anew; the diff is reviewed.
const GOLDEN = join(import.meta.dirname, '__fixtures__', 'background.sse');

const { wire } = parseBody(ResponseBody, { model: 'm', input: 'Hi \u2028', background: true, stream: true });
const head = {
  id: 'resp_0123456789abcdef0123456789abcdef',
  created: 1771165900,
  model: 'm',
  asked: askedFields(wire, { sampling: { temperature: 0.7 } }),
};
const queued = JSON.stringify(encodeQueued({ ...head, asked: { ...head.asked, instructions: 'line\u2028end' } }));
const FAILURE = new ServiceError('engine-failed', 'The process\nended.');

const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runs: { type: 'none', reason: '' },
  contextTokens: 100,
  abilities: {},
  interfaces: ['responses'],
  sampling: {},
  created: 0,
};
const TURN = { input: [], turns: 0, without: () => assert.fail('nothing is generated'), itemsLeftOut: () => 0 };
const CONTEXT: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

const eventOf = (text: string) => {
  const [frame] = createSseParser({ sizeMax: 1e6 }).push(text);
  assert.ok(frame);
  return { ...frame, data: JSON.parse(frame.data) as Record<string, unknown> };
};

describe('a response that nobody waits for', () => {
  test('is told by golden bytes while it waits, begins, is cancelled and fails', () => {
    const told = [
      stateEvent('response.created', queued, 0),
      stateEvent('response.queued', queued, 1),
      tellChange(queued, { status: 'in_progress' }, 2).event,
      tellChange(queued, { status: 'cancelled' }, 3).event,
      tellChange(queued, { status: 'failed', error: FAILURE }, 4).event,
    ].join('');
    if (process.env['GOLDEN'] === '1' || !existsSync(GOLDEN)) writeFileSync(GOLDEN, told);
    assert.equal(told, readFileSync(GOLDEN, 'utf8'));
  });

  test('tells the same object by the event and when it is asked for', () => {
    for (const change of [
      { status: 'in_progress' },
      { status: 'cancelled' },
      { status: 'failed', error: FAILURE },
    ] satisfies Change[]) {
      const { json, event } = tellChange(queued, change, 7);
      const { data, id } = eventOf(event);
      assert.deepEqual(data['response'], JSON.parse(json));
      assert.deepEqual([data['sequence_number'], id, Object(data['response']).status], [7, '8', change.status]);
    }
  });

  test('goes on with the events of a live one behind those that were told already', () => {
    const live = responseStream(head);
    const later = responseStream(head, { begunAt: 2 });
    const events = [
      { type: 'start', inputTokens: 1, cachedTokens: 0 },
      { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } },
      { type: 'block-delta', choice: 0, index: 0, text: 'Hello' },
    ] as const;
    const whole = live.push(events) + live.fail(FAILURE);
    assert.equal(whole.slice(whole.indexOf('id:3\n')), later.push(events) + later.fail(FAILURE));
  });

  test('keeps what was asked without what opens the servers of its tools', async () => {
    const tools = [
      { type: 'mcp', server_url: 'https://tools.example', headers: { a: 'hidden' }, authorization: 'hidden' },
      { type: 'function', name: 'f', parameters: { type: 'object' } },
    ];
    const body = { model: 'm', input: 'Hi', background: true, made_up: 7 };
    const kept: BackgroundWish[] = [];
    for (const asked of [body, { ...body, tools }]) {
      const read = parseBody(ResponseBody, asked);
      await enqueue(
        {
          id: 'resp_1',
          body: asked,
          asked: { wire: read.wire, entry: ENTRY, wish: {}, goOn: async () => ({ ...TURN, ignored: () => [] }) },
        },
        {
          background: {
            look: async () => ({ history: [], olderItems: 0 }),
            enqueue: async (_, wish) => void kept.push(wish),
            tail: () => assert.fail('it is not streamed'),
          },
          clock: systemClock,
        },
        CONTEXT,
      );
    }
    assert.doesNotMatch(JSON.stringify(kept), /hidden/);
    const [plain, withTools] = kept.map(({ body: text }) => JSON.parse(text) as Record<string, unknown>);
    assert.deepEqual(plain, body);
    const [mcp, named] = tools;
    const open = { type: mcp?.type, server_url: mcp?.server_url };
    assert.deepEqual(withTools, { ...body, tools: [open, named] });
  });

  test('is refused without being kept, and not with', () => {
    const rules = (fields: object) => () =>
      checkRules(parseBody(ResponseBody, { model: 'm', input: 'Hi', ...fields }).wire);
    assert.throws(rules({ background: true, store: false }), { kind: 'invalid-request', param: 'store' });
    for (const fields of [{ background: true }, { background: true, store: true }, { background: null, store: false }])
      rules(fields)();
  });
});

describe('the stream of a reader', () => {
  test('is the events as they are, and nothing behind their end', () => {
    const encoder = tailStream(-1);
    assert.equal(encoder.open() + encoder.push(['a\n\n', 'b\n\n']) + encoder.push([]) + encoder.close(), 'a\n\nb\n\n');
    assert.match(encoder.keepAlive(), /^:/);
  });

  test('breaks off with the number of the last event, behind which its reader goes on', () => {
    const encoder = tailStream(-1);
    encoder.push([stateEvent('response.created', queued, 0), tellChange(queued, { status: 'in_progress' }, 41).event]);
    const { event, data } = eventOf(encoder.fail(new ServiceError('not-found', 'gone\u2028')));
    const told = { type: 'error', code: 'not_found', message: 'gone\u2028', param: null, sequence_number: 41 };
    assert.deepEqual([event, data], ['error', told]);
    for (const [after, number] of [
      [-1, 0],
      [7, 7],
    ] as const)
      assert.equal(eventOf(tailStream(after).fail(FAILURE)).data['sequence_number'], number);
  });
});
