import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { createCatalogue } from '../../../catalogue/catalogue.ts';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { createVocabularies } from '../vocabularies/service.ts';
import { openTestStore } from '../../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../../store/store.ts';
import type { Endpoint } from '../../../protocols/endpoint.ts';
import {
  callEndpoint,
  TEST_CONTEXT,
  TEST_REQUEST_ID,
} from '../../../protocols/fields/__fixtures__/test-endpoint-call.ts';
import { createZonedTime } from '../../../protocols/fields/zoned-time.ts';
import { createCustomizationEndpoint } from './endpoint.ts';

const NOW = Date.parse('2026-07-01T12:00:00.900Z');
const OWNER = { ...TEST_CONTEXT.owner, workspace: 'primary' };
const MODEL: ModelEntry = {
  name: 'svc-asr',
  description: '',
  runner: { type: 'none', reason: 'no engine' },
  contextTokens: 1,
  abilities: { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false },
  interfaces: ['speech'],
  sampling: {},
  created: 0,
};

let nowMs = NOW;
let store: Store;
let endpoint: (strict?: boolean) => Endpoint;

beforeEach(async () => {
  nowMs = NOW;
  store = await openTestStore();
  let idCount = 0;
  const createSortableId = (prefix: string) => prefix + String(++idCount).padStart(32, '0');
  const vocabularies = createVocabularies({
    store,
    clock: { now: () => nowMs, monotonic: () => 0 },
    ids: { createRequestId: () => TEST_REQUEST_ID, createSortableId, createToolCallId: () => '' },
    catalogue: createCatalogue({
      entries: [MODEL],
      weights: [],
      aliases: [
        { pattern: 'paraformer-*', model: 'svc-asr' },
        { pattern: 'fun-asr*', model: 'svc-asr' },
      ],
    }),
    limits: { vocabulariesMax: 3, entriesMax: 4 },
    isUsable: async (name) => name === 'paraformer-v2',
  });
  const time = createZonedTime('Asia/Shanghai');
  endpoint = (strict = false) => createCustomizationEndpoint({ vocabularies, time, strict });
});
afterEach(() => store.close());

const VOCABULARY = [
  { text: 'Okonkwo', weight: 4, lang: 'en' },
  { text: '北京', weight: 5 },
];
const CREATE = { action: 'create_vocabulary', target_model: 'paraformer-v2', prefix: 'test', vocabulary: VOCABULARY };
const FIRST = `vocab-test-${'1'.padStart(32, '0')}`;
const SECOND = `vocab-test-${'2'.padStart(32, '0')}`;

const call = (input: unknown, fields: object = {}, strict = false) =>
  callEndpoint(endpoint(strict), { owner: OWNER, body: { model: 'speech-biasing', input, ...fields } });
const callForText = async (input: unknown): Promise<string> => {
  const { status, body } = await call(input);
  assert.equal(status, 200, JSON.stringify(body));
  return JSON.stringify(body);
};
const restOfBody = `"usage":{"count":1},"request_id":"${TEST_REQUEST_ID}"}`;

test('returns the id of a created vocabulary', async () => {
  assert.equal(await callForText(CREATE), `{"output":{"vocabulary_id":"${FIRST}"},${restOfBody}`);
});

test('queries a vocabulary with times in the configured zone, and lang only if it was set', async () => {
  await callForText(CREATE);
  nowMs += 61_000;
  await callForText({ action: 'update_vocabulary', vocabulary_id: FIRST, vocabulary: VOCABULARY.toReversed() });
  assert.equal(
    await callForText({ action: 'query_vocabulary', vocabulary_id: FIRST }),
    '{"output":{"gmt_create":"2026-07-01 20:00:00","vocabulary":[{"text":"北京","weight":5},{"lang":"en","text":"Okonkwo","weight":4}],' +
      `"target_model":"paraformer-v2","gmt_modified":"2026-07-01 20:01:01","status":"OK","vocabulary_id":"${FIRST}"},${restOfBody}`,
  );
});

test('lists the newest vocabulary first, with the status of each', async () => {
  await callForText(CREATE);
  nowMs += 61_000;
  await callForText({ ...CREATE, target_model: 'fun-asr' });
  const first = `{"gmt_create":"2026-07-01 20:00:00","gmt_modified":"2026-07-01 20:00:00","status":"OK","vocabulary_id":"${FIRST}"}`;
  const second = `{"gmt_create":"2026-07-01 20:01:01","gmt_modified":"2026-07-01 20:01:01","status":"UNDEPLOYED","vocabulary_id":"${SECOND}"}`;
  const formatList = (all: string) => `{"output":{"vocabulary_list":[${all}]},${restOfBody}`;
  const list = { action: 'list_vocabulary' };
  assert.equal(await callForText(list), formatList(`${second},${first}`));
  for (const unset of [
    { prefix: null, page_index: null, page_size: null },
    { prefix: '' },
    { page_index: 0, page_size: 10 },
  ])
    assert.equal(await callForText({ ...list, ...unset }), formatList(`${second},${first}`));
  assert.equal(await callForText({ ...list, page_index: 1, page_size: 1 }), formatList(first));
  assert.equal(await callForText({ ...list, page_index: 1 }), formatList(''));
  assert.equal(await callForText({ ...list, page_index: 1_000_000, page_size: 200 }), formatList(''));
  assert.equal(await callForText({ ...list, prefix: 'test' }), formatList(`${second},${first}`));
  assert.equal(await callForText({ ...list, prefix: 'tes' }), formatList(''));
  nowMs += 61_000;
  await callForText({ action: 'update_vocabulary', vocabulary_id: FIRST, vocabulary: VOCABULARY });
  const changed = first.replace('"gmt_modified":"2026-07-01 20:00:00"', '"gmt_modified":"2026-07-01 20:02:02"');
  assert.equal(await callForText(list), formatList(`${second},${changed}`));
});

test('answers an update and a deletion with an empty output', async () => {
  await callForText(CREATE);
  const update = { action: 'update_vocabulary', vocabulary_id: FIRST, vocabulary: [{ text: 'x', weight: 1 }] };
  assert.equal(await callForText(update), `{"output":{},${restOfBody}`);
  assert.equal(await callForText({ action: 'delete_vocabulary', vocabulary_id: FIRST }), `{"output":{},${restOfBody}`);
});

test("rejects an unknown id with the vendor's text", async () => {
  const message = `The Required resource not exist. Vocabulary '${FIRST}' not found.`;
  const body = { code: 'BadRequest.ResourceNotExist', message, request_id: TEST_REQUEST_ID };
  for (const action of ['query_vocabulary', 'update_vocabulary', 'delete_vocabulary'])
    assert.deepEqual(await call({ action, vocabulary_id: FIRST, vocabulary: VOCABULARY }), {
      status: 400,
      body,
      headers: {},
    });
});

test("rejects a vocabulary above the limit with the vendor's text", async () => {
  for (let count = 0; count < 3; count += 1) await callForText(CREATE);
  const { status, body } = await call(CREATE);
  const message = 'Free allocated quota exceeded. A workspace may have at most 3 vocabularies.';
  assert.deepEqual([status, body], [400, { code: 'Throttling.AllocationQuota', message, request_id: TEST_REQUEST_ID }]);
});

test('rejects a key of another workspace before checking anything else', async () => {
  for (const input of [
    CREATE,
    { action: 'list_vocabulary' },
    { action: 'query_vocabulary', vocabulary_id: FIRST },
    1,
  ]) {
    const { status, body } = await callEndpoint(endpoint(), { body: { model: 'speech-biasing', input } });
    const { code, message } = body as { code: string; message: string };
    assert.deepEqual([status, code], [403, 'AccessDenied']);
    assert.match(
      message,
      /^Access denied\. Custom vocabularies are available in the workspace primary only; this key belongs to w\.$/,
    );
  }
});

test('accepts and names fields without effect', async () => {
  const accepted = await call({ ...CREATE, vocabulary_id: 'x', vocabulary: [{ ...VOCABULARY[0], note: 1 }] });
  assert.deepEqual(
    [accepted.status, accepted.headers],
    [200, { 'x-parley-ignored': 'input.vocabulary[].note,input.vocabulary_id' }],
  );
  for (const [fields, headers] of [
    [{ parameters: {} }, {}],
    [{ parameters: null }, {}],
    [{ parameters: { a: 1 } }, { 'x-parley-ignored': 'parameters.a' }],
    [{ resources: [] }, { 'x-parley-ignored': 'resources' }],
  ] as const) {
    const list = await call({ action: 'list_vocabulary' }, fields);
    assert.deepEqual([list.status, list.headers], [200, headers]);
  }
});

test('rejects unknown fields in strict mode, except those that clients send', async () => {
  const list = { action: 'list_vocabulary' };
  assert.equal((await call(list, { parameters: {}, resources: [] }, true)).status, 200);
  for (const [input, fields, field] of [
    [{ ...list, size: 1 }, {}, 'input.size'],
    [list, { parameters: { a: 1 } }, 'parameters.a'],
  ] as const) {
    const { status, body } = await call(input, fields, true);
    const { code, message } = body as { code: string; message: string };
    assert.deepEqual([status, code, message], [400, 'InvalidParameter', `${field} is not a field of this request.`]);
  }
});

const withSecondEntry = (change: object) => ({
  ...CREATE,
  vocabulary: [VOCABULARY[0], { ...VOCABULARY[1], ...change }],
});
const withoutField = (name: string) => ({ ...CREATE, [name]: undefined });
const QUERY = { action: 'query_vocabulary' };
const LIST = { action: 'list_vocabulary' };
const REJECTED: readonly (readonly [unknown, string])[] = [
  [undefined, 'Required parameter(input) missing'],
  [1, 'input must be an object, got 1.'],
  [[], 'input must be an object'],
  [{}, 'Required parameter(input.action) missing'],
  [{ action: 1 }, 'input.action must be a string, got 1.'],
  [withoutField('target_model'), 'Required parameter(input.target_model) missing'],
  [{ ...CREATE, target_model: 1 }, 'input.target_model must be a string, got 1.'],
  [
    { ...CREATE, target_model: 'svc-plus' },
    'input.target_model must name a speech recognition model (svc-asr), got "svc-plus".',
  ],
  [withoutField('prefix'), 'Required parameter(input.prefix) missing'],
  [{ ...CREATE, prefix: '' }, 'input.prefix must be 1 to 10 lowercase letters and digits, got "".'],
  [{ ...CREATE, prefix: 'Test' }, 'input.prefix must be 1 to 10 lowercase letters and digits, got "Test".'],
  [{ ...CREATE, prefix: null }, 'input.prefix must be a string, got null.'],
  [withoutField('vocabulary'), 'Required parameter(input.vocabulary) missing'],
  [{ ...CREATE, vocabulary: {} }, 'input.vocabulary must be an array, got an object.'],
  [{ ...CREATE, vocabulary: [] }, 'input.vocabulary must have 1 to 4 entries, got 0.'],
  [{ ...CREATE, vocabulary: Array(5).fill(VOCABULARY[1]) }, 'input.vocabulary must have 1 to 4 entries, got 5.'],
  [{ ...CREATE, vocabulary: ['Okonkwo'] }, 'input.vocabulary[0] must be an object, got a string of 7 characters.'],
  [withSecondEntry({ text: undefined }), 'Required parameter(input.vocabulary[1].text) missing'],
  [withSecondEntry({ text: 7 }), 'input.vocabulary[1].text must be a string, got 7.'],
  [withSecondEntry({ text: '' }), 'input.vocabulary[1].text must not be empty.'],
  [withSecondEntry({ text: 'a b c d e f g h' }), 'input.vocabulary[1].text must have at most 7 words, got 8.'],
  [
    withSecondEntry({ text: '京'.repeat(16) }),
    'input.vocabulary[1].text must have at most 15 characters, because it contains a non-ASCII character, got 16.',
  ],
  [withSecondEntry({ weight: undefined }), 'Required parameter(input.vocabulary[1].weight) missing'],
  [withSecondEntry({ weight: '4' }), 'input.vocabulary[1].weight must be a number, got a string of 1 characters.'],
  [withSecondEntry({ weight: true }), 'input.vocabulary[1].weight must be a number, got true.'],
  [withSecondEntry({ weight: 6 }), 'input.vocabulary[1].weight must be an integer from 1 to 5, got 6.'],
  [withSecondEntry({ weight: 4.5 }), 'input.vocabulary[1].weight must be an integer from 1 to 5, got 4.5.'],
  [withSecondEntry({ lang: 1 }), 'input.vocabulary[1].lang must be a string, got 1.'],
  [
    withSecondEntry({ lang: 'es' }),
    'input.vocabulary[1].lang must be one of zh, en, ja, yue, ko, de, fr, ru for paraformer-v2, or omitted, got "es".',
  ],
  [
    { ...withSecondEntry({ lang: 'ko' }), target_model: 'fun-asr' },
    'input.vocabulary[1].lang must be one of zh, en, ja for fun-asr, or omitted, got "ko".',
  ],
  [{ ...LIST, page_index: -1 }, 'Range of page_index should be [0, 1000000] (input.page_index: -1)'],
  [{ ...LIST, page_index: 1.5 }, 'Range of page_index should be [0, 1000000] (input.page_index: 1.5)'],
  [{ ...LIST, page_index: 1_000_001 }, 'Range of page_index should be [0, 1000000] (input.page_index: 1000001)'],
  [{ ...LIST, page_size: 0 }, 'Range of page_size should be [1, 200] (input.page_size: 0)'],
  [{ ...LIST, page_size: 201 }, 'Range of page_size should be [1, 200] (input.page_size: 201)'],
  [{ ...LIST, page_size: '10' }, 'Range of page_size should be [1, 200] (input.page_size: a string of 2 characters)'],
  [{ ...LIST, prefix: 1 }, 'input.prefix must be a string, got 1.'],
  [{ ...LIST, prefix: 'TEST' }, 'input.prefix must be 1 to 10 lowercase letters and digits, got "TEST".'],
  [QUERY, 'Required parameter(input.vocabulary_id) missing'],
  [{ ...QUERY, vocabulary_id: 5 }, 'input.vocabulary_id must be a string, got 5.'],
  [{ ...QUERY, action: 'update_vocabulary', vocabulary_id: FIRST }, 'Required parameter(input.vocabulary) missing'],
  [{ ...QUERY, action: 'delete_vocabulary' }, 'Required parameter(input.vocabulary_id) missing'],
];

for (const [input, expected] of REJECTED) {
  test(`rejects ${JSON.stringify(input)?.slice(0, 200)}`, async () => {
    const { status, body } = await call(input);
    const { code, message } = body as { code: string; message: string };
    assert.deepEqual([status, code], [400, 'InvalidParameter']);
    assert.equal(message.slice(0, expected.length), expected);
    assert.match(await callForText(LIST), /"vocabulary_list":\[\]/);
  });
}

test('changes nothing when an update is rejected', async () => {
  await callForText(CREATE);
  const before = await callForText({ ...QUERY, vocabulary_id: FIRST });
  for (const vocabulary of [
    [],
    [VOCABULARY[0], { text: 'x', weight: 9 }],
    [...VOCABULARY, { text: 'y', weight: 'z' }],
  ]) {
    const { status } = await call({ action: 'update_vocabulary', vocabulary_id: FIRST, vocabulary });
    assert.equal(status, 400);
  }
  assert.equal(await callForText({ ...QUERY, vocabulary_id: FIRST }), before);
});

test('rejects another model, and an unknown action', async () => {
  const { status, body } = await callEndpoint(endpoint(), { owner: OWNER, body: { model: 'svc-asr', input: LIST } });
  const { code, message } = body as { code: string; message: string };
  assert.deepEqual(
    [status, code, message],
    [400, 'InvalidParameter', 'model must be "speech-biasing", got "svc-asr".'],
  );
  const unknown = await call({ action: 'copy_vocabulary' });
  assert.deepEqual(unknown, {
    status: 400,
    body: {
      code: 'UnsupportedOperation',
      message:
        'input.action must be one of create_vocabulary, list_vocabulary, query_vocabulary, update_vocabulary, delete_vocabulary, got "copy_vocabulary".',
      request_id: TEST_REQUEST_ID,
    },
    headers: {},
  });
});
