import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import { ask, REQUEST_ID } from '../../fields/__fixtures__/ask.ts';
import { nativeModelList } from './endpoint.ts';

const entry = (name: string, more: Partial<ModelEntry> = {}): ModelEntry => ({
  name,
  description: `About ${name}.`,
  runs: { type: 'weights', weights: 'w', family: 'f' },
  contextTokens: 4096,
  abilities: { tools: true, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['chat'],
  sampling: {},
  created: 0,
  ...more,
});

const ENTRIES = [
  entry('svc-a'),
  entry('svc-b'),
  entry('svc-off', { runs: { type: 'none', reason: 'no engine' } }),
  entry('svc-abroad', { regions: ['us-east-1'] }),
  entry('svc-speech', { interfaces: ['speech'] }),
  entry('other-c'),
];

const endpoint = nativeModelList({
  catalogue: () => ({
    list: () => ENTRIES,
    find: (name) => ENTRIES.find((each) => each.name === (name === 'qwen-max' ? 'svc-a' : name)),
  }),
  served: ['chat'],
});

async function list(query: string) {
  const { status, body, headers } = await ask(endpoint, { query });
  const { output } = body as { output: { total: number; models: { model: string }[] } };
  return { status, headers, total: output?.total, models: output?.models.map(({ model }) => model) };
}

test('answers the golden object', async () => {
  const { body } = await ask(endpoint, { query: 'page_no=1&page_size=1&model=qwen-max' });
  assert.equal(
    JSON.stringify(body),
    `{"request_id":"${REQUEST_ID}","output":{"total":1,"page_no":1,"page_size":1,"models":[{"model":"qwen-max","name":"svc-a",` +
      '"description":"About svc-a.","provider":"parley","source":"parley","opensource":null,"context_window":4096,"interfaces":["chat"]}]}}',
  );
});

test('lists what can be asked here, in pages', async () => {
  assert.deepEqual((await list('')).models, ['svc-a', 'svc-b', 'other-c']);
  assert.deepEqual(await list('page_no=2&page_size=2'), {
    status: 200,
    headers: {},
    total: 3,
    models: ['other-c'],
  });
  assert.deepEqual((await list('page_no=9')).models, []);
});

test('finds by a part of the name, and says which filters it does not know', async () => {
  assert.deepEqual((await list('name=ER-c')).models, ['other-c']);
  const found = await list('name=SVC&language=en&model=');
  assert.deepEqual(found.models, ['svc-a', 'svc-b']);
  assert.deepEqual(found.headers, { 'x-parley-ignored': 'language' });
});

test('a name that leads nowhere, or to what is not there, is an empty list', async () => {
  for (const name of ['nix', 'svc-off', 'svc-abroad', 'svc-speech', '__proto__'])
    assert.deepEqual((await list(`model=${name}&page_no=1&page_size=1`)).models, [], name);
});

for (const query of ['page_no=0', 'page_no=-1', 'page_no=x', 'page_no=1.5', 'page_size=0', 'page_size=201']) {
  test(`refuses ${query}`, async () => {
    const { status, body } = await ask(endpoint, { query });
    const { code, message } = body as { code: string; message: string };
    assert.deepEqual([status, code], [400, 'InvalidParameter']);
    assert.match(message, /^Range of page_(no|size) should be \[1, \d+\] \(page_(no|size): /);
  });
}
