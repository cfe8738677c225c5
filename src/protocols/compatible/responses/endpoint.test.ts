import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import type { Item } from '../../../core/item.ts';
import { systemClock } from '../../../lib/clock.ts';
import type { TurnRecord } from '../../../resources/responses/response.ts';
import { countedIds } from '../items/__fixtures__/counted-ids.ts';
import { responseCreate } from './endpoint.ts';
import { inputTokens } from './input-tokens.ts';

const NOW_MS = Date.parse('2026-07-01T12:00:00.900Z');

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

const EVENTS: readonly GenerationEvent[] = [
  { type: 'start', inputTokens: 1, cachedTokens: 0 },
  { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } },
  { type: 'block-delta', choice: 0, index: 0, text: 'Hello' },
  { type: 'block-end', choice: 0, index: 0 },
  { type: 'choice-end', choice: 0, reason: 'stop' },
  { type: 'end', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 } },
];

const CONTEXT: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

/** A turn that goes on from `history`, of which `olderItems` were not read; the model reads all that it is told. */
async function asked(
  fields: object,
  {
    history = [],
    olderItems = 0,
    ...own
  }: { history?: Item[]; olderItems?: number; entry?: ModelEntry; strict?: boolean } = {},
) {
  const { entry = ENTRY, strict = false } = own;
  const facts: object[] = [];
  const records: TurnRecord[] = [];
  let abandoned = 0;
  const endpoint = responseCreate({
    catalogue: () => ({ resolve: (name) => ({ asked: name, entry }) }),
    findDocument: async () => ({ type: 'refused', message: 'no file is here' }),
    strict,
    responses: {
      begin: async () => ({
        history,
        olderItems,
        complete: async (record) => void records.push(record),
        abandon: async () => void abandoned++,
      }),
      findItems: async () => new Map(),
    },
    background: { look: () => assert.fail(), enqueue: () => assert.fail(), tail: () => assert.fail() },
    fitHistory: async ({ turns }) => ({
      batches: (async function* () {
        yield EVENTS;
      })(),
      ignored: [],
      dropped: Math.min(turns, 1),
    }),
    ids: countedIds(),
    clock: { ...systemClock, now: () => NOW_MS },
  });
  const body = { model: 'm', input: 'Hi', conversation: 'conv_1', ...fields };
  const request = { body, params: {}, query: new URLSearchParams(), headers: {} };
  const log = { ...CONTEXT.log, add: (fact: object) => void facts.push(fact) };
  const reply = await endpoint.handle(request, { ...CONTEXT, log }).catch((error: unknown) => error);
  return { reply, records, abandoned, facts };
}

/** A count of what goes on from one item of a history, of which `olderItems` were not read. */
const counted = (fields: object, olderItems: number): Promise<unknown> =>
  inputTokens({
    catalogue: () => ({ resolve: (name) => ({ asked: name, entry: ENTRY }) }),
    findDocument: async () => ({ type: 'refused', message: 'no file is here' }),
    responses: {
      history: async () => ({ history: [message('a', 'user')], olderItems }),
      findItems: async () => new Map(),
    },
    countPrompt: async () => ({ tokens: 7, ignored: [] }),
    ids: countedIds(),
  })
    .handle(
      { body: { model: 'm', input: 'Hi', ...fields }, params: {}, query: new URLSearchParams(), headers: {} },
      CONTEXT,
    )
    .catch((error: unknown) => error);

const message = (id: string, role: string): Item => ({
  id,
  json: JSON.stringify({ type: 'message', id, status: 'completed', role, content: [] }),
});

describe('creating a response', () => {
  test('keeps what was said and what was answered, with ids of ours', async () => {
    const { records, abandoned } = await asked({ input: [{ role: 'user', content: 'Hi', id: 'theirs' }] });
    const [record] = records;
    assert.deepEqual(
      [record?.input, record?.output].map((list) => list?.map(({ id }) => id)),
      [['msg_2'], ['msg_100']],
    );
    const { output } = JSON.parse(record?.json ?? '') as { output: unknown[] };
    assert.deepEqual(
      output,
      record?.output.map(({ json }) => JSON.parse(json) as unknown),
    );
    assert.deepEqual([record?.isStored, abandoned], [true, 0]);
  });

  test('neither tells nor keeps what opens the servers of its tools', async () => {
    const mcp = { type: 'mcp', server_label: 'docs', server_url: 'https://tools.example' };
    const secret = { headers: { Authorization: 'Bearer hidden' }, authorization: 'hidden' };
    const { reply, records } = await asked({ tools: [{ ...mcp, ...secret }] });
    const { tools } = JSON.parse(records[0]?.json ?? '') as { tools: unknown[] };
    assert.deepEqual(tools, [mcp]);
    assert.doesNotMatch(JSON.stringify([reply, records]), /hidden/);
  });

  test('tells its times in whole seconds', async () => {
    const [record] = (await asked({})).records;
    const { created_at: created, completed_at: completed } = JSON.parse(record?.json ?? '') as Record<string, number>;
    assert.deepEqual([created, completed], [1_782_907_200, 1_782_907_200]);
  });

  test('says how many items of the history were left out, those that were not read included', async () => {
    const history = [message('a', 'user'), message('b', 'assistant'), message('c', 'user')];
    const { reply } = await asked({ truncation: 'auto' }, { history, olderItems: 40 });
    assert.deepEqual(Reflect.get(Object(reply), 'headers'), { 'x-parley-dropped-items': '42' });
  });

  test('names an asked model in the log line as far as a name goes, and nothing that was said', async () => {
    const { facts } = await asked({ model: 'm'.repeat(100), input: 'SECRET', instructions: 'SECRET' });
    assert.deepEqual(facts, [{ asked: 'm'.repeat(64) }]);
  });

  test('leaves what a server of its own hears to that, and names what nobody hears', async () => {
    const remote = { forward: ['min_tokens'] } as unknown as Extract<
      ModelEntry['runs'],
      { type: 'upstream' }
    >['remote'];
    const entry: ModelEntry = { ...ENTRY, runs: { type: 'upstream', remote } as ModelEntry['runs'] };
    const { reply } = await asked({ min_tokens: 3 }, { entry, strict: true });
    assert.equal(Reflect.get(Object(reply), 'status'), 200, String(reply));
    const { reply: refused } = await asked({ min_tokens: 3, made_up: 1 }, { entry, strict: true });
    assert.equal(Reflect.get(Object(refused), 'param'), 'made_up');
  });

  test('takes images where nobody has said yet whether the model sees', async () => {
    const image = { role: 'user', content: [{ type: 'input_image', image_url: 'data:,' }] };
    const { reply } = await asked({ input: [image] });
    assert.equal(Reflect.get(Object(reply), 'status'), 200, String(reply));
    const { reply: refused } = await asked({ input: [image] }, { entry: { ...ENTRY, abilities: { vision: false } } });
    assert.equal(Reflect.get(Object(refused), 'param'), 'input[0].content[0].type');
  });

  test('refuses a history that was not read as a whole, where nothing may be left out', async () => {
    for (const fields of [{}, { truncation: 'disabled' }]) {
      const { reply, records, abandoned } = await asked(fields, { history: [message('a', 'user')], olderItems: 40 });
      assert.match(String(reply), /\[1, 99\].* 41 items/);
      assert.deepEqual([Reflect.get(Object(reply), 'kind'), records.length, abandoned], ['context-exceeded', 0, 1]);
    }
  });

  test('counts no history that was not read as a whole, where the same request would be refused', async () => {
    const told = async (...asked: Parameters<typeof counted>) =>
      Reflect.get(Object(await counted(...asked)), 'body') as unknown;
    assert.deepEqual(await told({}, 0), { object: 'response.input_tokens', input_tokens: 7 });
    assert.deepEqual(await told({ truncation: 'auto' }, 40), { object: 'response.input_tokens', input_tokens: 7 });
    const shortened = await counted({ truncation: 'auto' }, 40);
    assert.deepEqual(Reflect.get(Object(shortened), 'headers'), { 'x-parley-dropped-items': '40' });
    assert.match(String(await counted({}, 40)), /\[1, 99\].* 41 items/);
  });
});
