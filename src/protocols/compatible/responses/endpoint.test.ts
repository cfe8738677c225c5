import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import type { Item } from '../../../core/item.ts';
import { systemClock } from '../../../lib/clock.ts';
import type { TurnResult } from '../../../resources/responses/response.ts';
import { createCountingIds } from '../items/__fixtures__/fake-ids.ts';
import { createResponseEndpoint } from './endpoint.ts';
import { createInputTokensEndpoint } from './input-tokens.ts';

const NOW_MS = Date.parse('2026-07-01T12:00:00.900Z');

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

/** Creates a response after `history`, of which `olderItems` more were not read. The model accepts any length. */
async function createResponse(
  fields: object,
  {
    history = [],
    olderItems = 0,
    ...overrides
  }: { history?: Item[]; olderItems?: number; entry?: ModelEntry; strict?: boolean } = {},
) {
  const { entry = ENTRY, strict = false } = overrides;
  const logFields: object[] = [];
  const records: TurnResult[] = [];
  let abandoned = 0;
  const endpoint = createResponseEndpoint({
    catalogue: () => ({ resolve: async (name) => ({ requestedName: name, entry }) }),
    findDocument: async () => ({ type: 'refused', message: 'no file is here' }),
    strict,
    responses: {
      startTurn: async () => ({
        history,
        olderItems,
        complete: async (record) => void records.push(record),
        abandon: async () => void abandoned++,
      }),
      findItems: async () => new Map(),
    },
    background: { checkTurn: () => assert.fail(), enqueue: () => assert.fail(), tail: () => assert.fail() },
    fitHistory: async ({ droppableTurns }) => ({
      batches: (async function* () {
        yield EVENTS;
      })(),
      ignored: [],
      droppedTurns: Math.min(droppableTurns, 1),
    }),
    ids: createCountingIds(),
    clock: { ...systemClock, now: () => NOW_MS },
  });
  const body = { model: 'm', input: 'Hi', conversation: 'conv_1', ...fields };
  const request = { body, params: {}, query: new URLSearchParams(), headers: {} };
  const log = { ...CONTEXT.log, add: (fact: object) => void logFields.push(fact) };
  const reply = await endpoint.handle(request, { ...CONTEXT, log }).catch((error: unknown) => error);
  return { reply, records, abandoned, logFields };
}

/** Counts the tokens of a request after one history item, of which `olderItems` more were not read. */
const countTokens = (fields: object, olderItems: number): Promise<unknown> =>
  createInputTokensEndpoint({
    catalogue: () => ({ resolve: async (name) => ({ requestedName: name, entry: ENTRY }) }),
    findDocument: async () => ({ type: 'refused', message: 'no file is here' }),
    responses: {
      readHistory: async () => ({ history: [message('a', 'user')], olderItems }),
      findItems: async () => new Map(),
    },
    countPrompt: async () => ({ tokens: 7, isEstimated: false, ignored: [] }),
    ids: createCountingIds(),
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
  test('stores input and output with new ids', async () => {
    const { records, abandoned } = await createResponse({ input: [{ role: 'user', content: 'Hi', id: 'theirs' }] });
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

  test('neither returns nor stores credentials of tool servers', async () => {
    const mcp = { type: 'mcp', server_label: 'docs', server_url: 'https://tools.example' };
    const secret = { headers: { Authorization: 'Bearer hidden' }, authorization: 'hidden' };
    const { reply, records } = await createResponse({ tools: [{ ...mcp, ...secret }] });
    const { tools } = JSON.parse(records[0]?.json ?? '') as { tools: unknown[] };
    assert.deepEqual(tools, [mcp]);
    assert.doesNotMatch(JSON.stringify([reply, records]), /hidden/);
  });

  test('returns times in whole seconds', async () => {
    const [record] = (await createResponse({})).records;
    const { created_at: created, completed_at: completed } = JSON.parse(record?.json ?? '') as Record<string, number>;
    assert.deepEqual([created, completed], [1_782_907_200, 1_782_907_200]);
  });

  test('reports how many history items were dropped, including those that were not read', async () => {
    const history = [message('a', 'user'), message('b', 'assistant'), message('c', 'user')];
    const { reply } = await createResponse({ truncation: 'auto' }, { history, olderItems: 40 });
    assert.deepEqual(Reflect.get(Object(reply), 'headers'), { 'x-parley-dropped-items': '42' });
  });

  test('logs the shortened model name and no content', async () => {
    const { logFields } = await createResponse({ model: 'm'.repeat(100), input: 'SECRET', instructions: 'SECRET' });
    assert.deepEqual(logFields, [{ requestedModel: 'm'.repeat(64) }]);
  });

  test('passes on fields that the upstream server accepts, and rejects other unknown fields', async () => {
    const remote = { forward: ['min_tokens'] } as unknown as Extract<
      ModelEntry['runner'],
      { type: 'upstream' }
    >['remote'];
    const entry: ModelEntry = { ...ENTRY, runner: { type: 'upstream', remote } as ModelEntry['runner'] };
    const { reply } = await createResponse({ min_tokens: 3 }, { entry, strict: true });
    assert.equal(Reflect.get(Object(reply), 'status'), 200, String(reply));
    const { reply: refused } = await createResponse({ min_tokens: 3, made_up: 1 }, { entry, strict: true });
    assert.equal(Reflect.get(Object(refused), 'param'), 'made_up');
  });

  test('accepts images while it is unknown whether the model supports them', async () => {
    const image = { role: 'user', content: [{ type: 'input_image', image_url: 'data:,' }] };
    const { reply } = await createResponse({ input: [image] });
    assert.equal(Reflect.get(Object(reply), 'status'), 200, String(reply));
    const { reply: refused } = await createResponse(
      { input: [image] },
      { entry: { ...ENTRY, abilities: { vision: false } } },
    );
    assert.equal(Reflect.get(Object(refused), 'param'), 'input[0].content[0].type');
  });

  test('refuses a partly read history if nothing may be dropped', async () => {
    for (const fields of [{}, { truncation: 'disabled' }]) {
      const { reply, records, abandoned } = await createResponse(fields, {
        history: [message('a', 'user')],
        olderItems: 40,
      });
      assert.match(String(reply), /\[1, 99\].* 41 items/);
      assert.deepEqual([Reflect.get(Object(reply), 'kind'), records.length, abandoned], ['context-exceeded', 0, 1]);
    }
  });

  test('refuses to count a partly read history if the same request would be refused', async () => {
    const countBody = async (...args: Parameters<typeof countTokens>) =>
      Reflect.get(Object(await countTokens(...args)), 'body') as unknown;
    assert.deepEqual(await countBody({}, 0), { object: 'response.input_tokens', input_tokens: 7 });
    assert.deepEqual(await countBody({ truncation: 'auto' }, 40), { object: 'response.input_tokens', input_tokens: 7 });
    const shortened = await countTokens({ truncation: 'auto' }, 40);
    assert.deepEqual(Reflect.get(Object(shortened), 'headers'), { 'x-parley-dropped-items': '40' });
    assert.match(String(await countTokens({}, 40)), /\[1, 99\].* 41 items/);
  });
});
