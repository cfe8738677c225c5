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
async function asked(fields: object, { history = [], olderItems = 0 }: { history?: Item[]; olderItems?: number } = {}) {
  const records: TurnRecord[] = [];
  let abandoned = 0;
  const endpoint = responseCreate({
    catalogue: () => ({ resolve: (name) => ({ asked: name, entry: ENTRY }) }),
    responses: {
      begin: async () => ({
        history,
        olderItems,
        complete: async (record) => void records.push(record),
        abandon: async () => void abandoned++,
      }),
      findItems: async () => new Map(),
    },
    fitHistory: async ({ turns }) => ({
      batches: (async function* () {
        yield EVENTS;
      })(),
      ignored: [],
      dropped: Math.min(turns, 1),
    }),
    ids: countedIds(),
    clock: systemClock,
  });
  const body = { model: 'm', input: 'Hi', conversation: 'conv_1', ...fields };
  const request = { body, params: {}, query: new URLSearchParams(), headers: {} };
  const reply = await endpoint.handle(request, CONTEXT).catch((error: unknown) => error);
  return { reply, records, abandoned };
}

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

  test('says how many items of the history were left out, those that were not read included', async () => {
    const history = [message('a', 'user'), message('b', 'assistant'), message('c', 'user')];
    const { reply } = await asked({ truncation: 'auto' }, { history, olderItems: 40 });
    assert.deepEqual(Reflect.get(Object(reply), 'headers'), { 'x-parley-dropped-items': '42' });
  });

  test('refuses a history that was not read as a whole, where nothing may be left out', async () => {
    for (const fields of [{}, { truncation: 'disabled' }]) {
      const { reply, records, abandoned } = await asked(fields, { history: [message('a', 'user')], olderItems: 40 });
      assert.match(String(reply), /\[1, 99\].* 41 items/);
      assert.deepEqual([Reflect.get(Object(reply), 'kind'), records.length, abandoned], ['context-exceeded', 0, 1]);
    }
  });
});
