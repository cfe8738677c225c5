import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { callEndpoint, TEST_REQUEST_ID } from '../../fields/__fixtures__/test-endpoint-call.ts';
import { createNativeModelListEndpoint } from './endpoint.ts';

const createEntry = (name: string, fields: Partial<ModelEntry> = {}): ModelEntry => ({
  name,
  description: `About ${name}.`,
  runner: { type: 'weights', weights: 'w', family: 'f' },
  contextTokens: 4096,
  abilities: { tools: true, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['chat'],
  sampling: {},
  created: 0,
  ...fields,
});

const ENTRIES = [
  createEntry('svc-a'),
  createEntry('svc-b'),
  createEntry('svc-off', { runner: { type: 'none', reason: 'no engine' } }),
  createEntry('svc-abroad', { regions: ['us-east-1'] }),
  createEntry('svc-speech', { interfaces: ['speech'] }),
  createEntry('other-c'),
];

const endpoint = createNativeModelListEndpoint({
  catalogue: () => ({
    listCallable: async () => ENTRIES,
    find: (name) => ENTRIES.find((each) => each.name === (name === 'qwen-max' ? 'svc-a' : name)),
  }),
  servedInterfaces: ['chat'],
});

async function list(query: string) {
  const { status, body, headers } = await callEndpoint(endpoint, { query });
  const { output } = body as { output: { total: number; models: { model: string }[] } };
  return { status, headers, total: output?.total, models: output?.models.map(({ model }) => model) };
}

test('answers the golden object', async () => {
  const { body } = await callEndpoint(endpoint, { query: 'page_no=1&page_size=1&model=qwen-max' });
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${TEST_REQUEST_ID}","output":{"total":1,"page_no":1,"page_size":1,"models":[{"model":"qwen-max","name":"svc-a",` +
      '"description":"About svc-a.","provider":"parley","source":"parley","opensource":null,"context_window":4096,"interfaces":["chat"]}]}}',
  );
});

test('lists the models served in this region, in pages', async () => {
  assert.deepEqual((await list('')).models, ['svc-a', 'svc-b', 'other-c']);
  assert.deepEqual(await list('page_no=2&page_size=2'), {
    status: 200,
    headers: {},
    total: 3,
    models: ['other-c'],
  });
  assert.deepEqual((await list('page_no=9')).models, []);
});

test('filters by a part of the name, and names unknown filters', async () => {
  assert.deepEqual((await list('name=ER-c')).models, ['other-c']);
  const found = await list('name=SVC&language=en&model=');
  assert.deepEqual(found.models, ['svc-a', 'svc-b']);
  assert.deepEqual(found.headers, { 'x-parley-ignored': 'language' });
});

test('lists nothing for an unknown name or a model that is not served here', async () => {
  for (const name of ['nix', 'svc-off', 'svc-abroad', 'svc-speech', '__proto__'])
    assert.deepEqual((await list(`model=${name}&page_no=1&page_size=1`)).models, [], name);
});

for (const query of ['page_no=0', 'page_no=-1', 'page_no=x', 'page_no=1.5', 'page_size=0', 'page_size=201']) {
  test(`rejects ${query}`, async () => {
    const { status, body } = await callEndpoint(endpoint, { query });
    const { code, message } = body as { code: string; message: string };
    assert.deepEqual([status, code], [400, 'InvalidParameter']);
    assert.match(message, /^Range of page_(no|size) should be \[1, \d+\] \(page_(no|size): /);
  });
}
