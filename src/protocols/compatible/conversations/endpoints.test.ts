import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createConversations } from '../../../resources/conversations/service.ts';
import { createResponses } from '../../../resources/responses/service.ts';
import { openTestStore } from '../../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../../store/store.ts';
import type { Endpoint } from '../../endpoint.ts';
import { callEndpoint, TEST_REQUEST_ID, type EndpointCall } from '../../fields/__fixtures__/test-endpoint-call.ts';
import { createConversationEndpoints } from './endpoints.ts';

const NOW = Date.parse('2026-07-01T12:00:00.123Z');
const clock = { now: () => NOW, monotonic: () => 0 };

let store: Store;
let endpoints: readonly Endpoint[];

/** Creates ids in the order of creation: msg_001, fc_002. */
const countedIds = () => {
  let made = 0;
  const next = (): string => String(++made).padStart(3, '0');
  return {
    createRequestId: () => TEST_REQUEST_ID,
    createSortableId: (prefix: string) => prefix + next(),
    createToolCallId: () => `call_${next()}`,
  };
};

beforeEach(async () => {
  store = await openTestStore();
  const ids = countedIds();
  const conversations = createConversations({ store, clock, ids });
  endpoints = createConversationEndpoints({
    conversations,
    responses: createResponses({ store, clock }),
    ids,
    findDocument: async (_owner, id) =>
      id === 'file-new' ? { type: 'waiting' } : { type: 'refused', message: `Invalid file [id:${id}].` },
    canSee: () => false,
  });
});
afterEach(() => store.close());

const call = (operation: string, request: EndpointCall = {}) => {
  const endpoint = endpoints.find((each) => each.operation === `conversations.${operation}`);
  return callEndpoint(endpoint ?? assert.fail(operation), request);
};
/** Calls an operation that must succeed, and returns the response body as text. */
const callOk = async (operation: string, request: EndpointCall = {}) => {
  const { status, body } = await call(operation, request);
  assert.equal(status, 200, JSON.stringify(body));
  return JSON.stringify(body);
};
const callRefused = async (operation: string, request: EndpointCall) => {
  const { status, body } = await call(operation, request);
  const { error } = body as { error: { message: string; type: string; param: string | null; code: string } };
  return { status, ...error };
};

const create = async (body: unknown = {}) => {
  const { id } = JSON.parse(await callOk('create', { body })) as { id: string };
  return id;
};
const message = (content: string, role = 'user') => ({ role, content });
const stored = (id: string, text: string) =>
  `{"type":"message","id":"${id}","status":"completed","role":"user","content":[{"type":"input_text","text":"${text}"}]}`;

describe('conversations', () => {
  test('returns a conversation as it was created, with its creation time in milliseconds', async () => {
    const expected = `{"id":"conv_001","object":"conversation","created_at":${NOW},"metadata":{"topic":"a"}}`;
    assert.equal(await callOk('create', { body: { metadata: { topic: 'a' } } }), expected);
    assert.equal(await callOk('get', { params: { id: 'conv_001' } }), expected);
  });

  for (const [name, request] of [
    ['an empty body', { body: {} }],
    ['no body', {}],
    ['nothing but null', { body: { items: null, metadata: null } }],
  ] as const) {
    test(`creates a conversation from ${name}`, async () => {
      assert.equal(
        await callOk('create', request),
        `{"id":"conv_001","object":"conversation","created_at":${NOW},"metadata":{}}`,
      );
    });
  }

  test('replaces all metadata; {} clears it, and the field is required', async () => {
    const id = await create({ metadata: { a: '1', b: '2' } });
    const update = (body: unknown) => callOk('update', { params: { id }, body });
    assert.match(await update({ metadata: { c: '3' } }), /"metadata":\{"c":"3"\}\}$/);
    for (const body of [{}, undefined, { metadata: null }]) {
      const { status, param, code } = await callRefused('update', { params: { id }, body });
      assert.deepEqual([status, param, code], [400, 'metadata', 'invalid_parameter_error']);
    }
    assert.match(await callOk('get', { params: { id } }), /"metadata":\{"c":"3"\}\}$/);
    assert.match(await update({ metadata: {} }), /"metadata":\{\}\}$/);
    assert.match(await callOk('get', { params: { id } }), /"metadata":\{\}\}$/);
  });

  test('accepts any metadata key, also __proto__', async () => {
    const body: unknown = JSON.parse('{"metadata":{"__proto__":"a","constructor":"b","toString":"c"}}');
    const id = await create(body);
    assert.match(
      await callOk('get', { params: { id } }),
      /"metadata":\{"__proto__":"a","constructor":"b","toString":"c"\}\}$/,
    );
  });

  test('deletes a conversation with its items', async () => {
    const id = await create({ items: [message('Hi')] });
    assert.equal(
      await callOk('delete', { params: { id } }),
      `{"id":"${id}","object":"conversation.deleted","deleted":true}`,
    );
    assert.deepEqual(await call('get', { params: { id } }), {
      status: 404,
      body: {
        error: {
          message: `Conversation with id '${id}' not found.`,
          type: 'invalid_request_error',
          param: null,
          code: 'not_found',
        },
        request_id: TEST_REQUEST_ID,
      },
      headers: {},
    });
  });

  test('hides conversations of other workspaces and regions', async () => {
    const metadata = new Map();
    for (const scope of [
      { workspace: 'other', region: 'cn-beijing' },
      { workspace: 'w', region: 'us-east-1' },
    ] as const) {
      const id = `conv_${scope.workspace}`;
      await store.conversations.insert({ ...scope, id, createdAt: NOW, metadata }, { nextPosition: 0 });
      for (const [operation, body] of [
        ['get', undefined],
        ['update', { metadata: {} }],
        ['delete', undefined],
        ['items.list', undefined],
        ['items.create', { items: [message('Hi')] }],
        ['items.get', undefined],
        ['items.delete', undefined],
      ] as const) {
        const { status, message: text } = await callRefused(operation, { params: { id, item: 'msg_1' }, body });
        assert.deepEqual([status, text], [404, `Conversation with id '${id}' not found.`], operation);
      }
    }
  });

  test('names unknown fields', async () => {
    const { headers } = await call('create', { body: { user: 'u', metadata: { a: 'b' }, expires: 1 } });
    assert.deepEqual(headers, { 'x-parley-ignored': 'user,expires' });
    const { headers: listed } = await call('items.list', { params: { id: 'conv_001' }, query: 'before=x&include[]=y' });
    assert.deepEqual(listed, { 'x-parley-ignored': 'before' });
  });
});

describe('conversation items', () => {
  test('are returned as stored, with new ids', async () => {
    const id = await create({ items: [message('Hi')] });
    const item = stored('msg_001', 'Hi');
    assert.equal(await callOk('items.get', { params: { id, item: 'msg_001' } }), item);
    assert.equal(
      await callOk('items.create', { params: { id }, body: { items: [message('a'), message('b')] } }),
      `{"object":"list","data":[${stored('msg_003', 'a')},${stored('msg_004', 'b')}],"first_id":"msg_003","last_id":"msg_004","has_more":false}`,
    );
  });

  test('may be calls, results and reasoning when added, but only messages at creation', async () => {
    const call_ = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' };
    const { status, param } = await callRefused('create', { body: { items: [call_] } });
    assert.deepEqual([status, param], [400, 'items[0].type']);
    const id = await create();
    const items = [
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 's' }], x: { __proto: 1 } },
      call_,
      { type: 'function_call_output', call_id: 'c', output: 'r' },
    ];
    const { data } = JSON.parse(await callOk('items.create', { params: { id }, body: { items } })) as {
      data: { id: string }[];
    };
    assert.deepEqual(
      data.map((each) => each.id.split('_')[0]),
      ['rs', 'fc', 'fco'],
    );
  });

  test('are copied from references to items of the same owner', async () => {
    const from = await create({ items: [message('Hi')] });
    const id = await create();
    const body = { items: [{ type: 'item_reference', id: 'msg_001' }] };
    assert.match(await callOk('items.create', { params: { id }, body }), /"data":\[\{.*"text":"Hi"/);
    await callOk('delete', { params: { id: from } });
    const other = { items: [{ type: 'item_reference', id: 'msg_001' }] };
    const { status, param } = await callRefused('items.create', { params: { id }, body: other });
    assert.deepEqual([status, param], [400, 'items[0].id']);
  });

  test('are listed newest first, 20 by default, in pages', async () => {
    const id = await create({ items: Array.from({ length: 20 }, (_, at) => message(`m${at}`)) });
    await callOk('items.create', { params: { id }, body: { items: [message('m20'), message('m21')] } });
    const page = async (query: string) => {
      const list = JSON.parse(await callOk('items.list', { params: { id }, query })) as {
        data: { id: string; content: { text: string }[] }[];
        first_id: string;
        last_id: string;
        has_more: boolean;
      };
      assert.deepEqual([list.first_id, list.last_id], [list.data[0]?.id, list.data.at(-1)?.id]);
      return { texts: list.data.map(({ content }) => content[0]?.text), last: list.last_id, more: list.has_more };
    };
    const first = await page('');
    assert.deepEqual([first.texts.length, first.texts[0], first.texts[19], first.more], [20, 'm21', 'm2', true]);
    assert.deepEqual(await page(`after=${first.last}`), { texts: ['m1', 'm0'], last: 'msg_001', more: false });
    const ascending = await page('order=asc&limit=3&include=a&include[]=b&include[]=c');
    assert.deepEqual([ascending.texts, ascending.more], [['m0', 'm1', 'm2'], true]);
    assert.equal((await page('limit=100')).texts.length, 22);
    assert.deepEqual(await page('limit=&order=&after=&include='), first, 'a field without a value counts as not set');
  });

  test('are an empty list for an empty conversation', async () => {
    const id = await create();
    assert.equal(
      await callOk('items.list', { params: { id } }),
      '{"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false}',
    );
  });

  for (const query of ['limit=0', 'limit=101', 'limit=1.5', 'limit=x', 'order=up', 'after=msg_nobody']) {
    test(`rejects ${query}`, async () => {
      const { status, param, type } = await callRefused('items.list', { params: { id: await create() }, query });
      assert.deepEqual([status, param, type], [400, query.split('=')[0], 'invalid_request_error']);
    });
  }

  test('are deleted, and the response is the conversation', async () => {
    const id = await create({ items: [message('Hi')], metadata: { a: 'b' } });
    const params = { id, item: 'msg_001' };
    assert.equal(
      await callOk('items.delete', { params }),
      `{"id":"${id}","object":"conversation.item.deleted","created_at":${NOW},"metadata":{"a":"b"},"deleted":true}`,
    );
    for (const operation of ['items.get', 'items.delete']) {
      const { status, message: text } = await callRefused(operation, { params });
      assert.deepEqual([status, text], [404, `Item with id 'msg_001' not found in conversation '${id}'.`]);
    }
  });

  const repeatItem = (item: object) => Array.from({ length: 21 }, () => item);
  const many = (count: number) => Array.from({ length: count }, () => message('x'));
  const refusals: readonly (readonly [string, string, unknown, string])[] = [
    ['21 items at creation', 'create', { items: many(21) }, 'items'],
    ['21 references, before looking them up', 'items.create', { items: repeatItem({ id: 'msg_nobody' }) }, 'items'],
    ['21 items', 'items.create', { items: many(21) }, 'items'],
    ['items that are not a list', 'items.create', { items: 'x' }, 'items'],
    ['missing items', 'items.create', {}, 'items'],
    ['an unknown role', 'items.create', { items: [{ role: 'tool', content: 'x' }] }, 'items[0].role'],
    ['17 pairs', 'create', { metadata: Object.fromEntries(many(17).map((_, at) => [at, ''])) }, 'metadata'],
    ['a long key', 'create', { metadata: { ['k'.repeat(65)]: '' } }, 'metadata'],
    ['a long value', 'create', { metadata: { k: 'v'.repeat(513) } }, 'metadata.k'],
    ['a number in metadata', 'create', { metadata: { k: 1 } }, 'metadata.k'],
    ['a list as metadata', 'update', { metadata: [] }, 'metadata'],
  ];
  for (const [name, operation, body, field] of refusals) {
    test(`refuses ${name}, naming ${field}`, async () => {
      const { status, param, code } = await callRefused(operation, { params: { id: await create() }, body });
      assert.deepEqual([status, param, code], [400, field, 'invalid_parameter_error']);
    });
  }
});

test('names content that no model will read, when items are added and when a conversation is created', async () => {
  const picture = { type: 'input_image', image_url: 'data:image/png;base64,AA==' };
  const items = [message('Hi'), message(''), { role: 'user', content: [picture] }];
  const expected = 'items[1].content,items[2].content[0]';
  assert.equal((await call('create', { body: { items } })).headers?.['x-parley-ignored'], expected);
  const added = await call('items.create', { params: { id: await create() }, body: { items } });
  assert.equal(added.headers?.['x-parley-ignored'], expected);
});

test('refuses items that name a missing file, and accepts a file that is still parsed', async () => {
  const withFile = (file_id: string) => [message('Hi'), { role: 'user', content: [{ type: 'input_file', file_id }] }];
  const id = await create();
  for (const [operation, params] of [
    ['create', {}],
    ['items.create', { id }],
  ] as const) {
    const refused = await callRefused(operation, { params, body: { items: withFile('file-gone') } });
    assert.deepEqual([refused.status, refused.param], [400, 'items[1].content[0].file_id']);
    await callOk(operation, { params, body: { items: withFile('file-new') } });
  }
});
