import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EmbeddingWish } from '../../../generation/embed.ts';
import { ask, REQUEST_ID } from '../../fields/__fixtures__/ask.ts';
import type { Asked } from '../../fields/__fixtures__/ask.ts';
import { embeddingCatalogue } from '../../fields/__fixtures__/embedding-catalogue.ts';
import { textEmbedding } from './endpoint.ts';

function createHouse() {
  const wishes: EmbeddingWish[] = [];
  const endpoint = textEmbedding({
    catalogue: embeddingCatalogue,
    async embed(wish) {
      wishes.push(wish);
      return { vectors: wish.inputs.map(() => Float32Array.of(0.6, -0.8)), promptTokens: 3 };
    },
  });
  return { wishes, create: (body: unknown, more: Asked = {}) => ask(endpoint, { ...more, body }) };
}

test('answers the golden object', async () => {
  const { create, wishes } = createHouse();
  const { status, body } = await create({
    model: 'text-embedding-v3',
    input: { texts: ['a', 'b'] },
    parameters: { text_type: 'document', dimension: 2, output_type: 'dense' },
  });
  assert.equal(status, 200);
  assert.equal(
    JSON.stringify(body),
    '{"output":{"embeddings":[{"text_index":0,"embedding":[0.600000024,-0.800000012]},' +
      '{"text_index":1,"embedding":[0.600000024,-0.800000012]}]},' +
      `"usage":{"total_tokens":3},"request_id":"${REQUEST_ID}"}`,
  );
  assert.deepEqual(wishes, [
    {
      model: 'text-embedding-v3',
      inputs: [
        { text: 'a', field: 'input.texts[0]' },
        { text: 'b', field: 'input.texts[1]' },
      ],
      dimensions: { count: 2, field: 'parameters.dimension' },
    },
  ]);
});

test('names the wishes that change nothing', async () => {
  const { create } = createHouse();
  const input = { texts: ['a'] };
  const { headers } = await create({ model: 'm', input, parameters: { text_type: 'query', instruct: 'Find', x: 1 } });
  assert.deepEqual(headers, { 'x-parley-ignored': 'parameters.text_type,parameters.instruct,parameters.x' });
  assert.deepEqual((await create({ model: 'm', input, parameters: {} })).headers, {});
});

const input = { texts: ['a'] };

const REFUSED: readonly (readonly [body: unknown, code: string, says: RegExp])[] = [
  [{ model: 'm' }, 'InvalidParameter', /^Required parameter\(input\) missing/],
  [{ model: 'm', input: { url: 'http://x' } }, 'InvalidParameter', /^input\.texts must be an array of strings/],
  [{ model: 'm', input: { texts: 'a' } }, 'InvalidParameter', /^input\.texts must be an array of strings/],
  [{ model: 'm', input: { texts: [] } }, 'InvalidParameter', /^\[\] is too short - 'input\.texts'/],
  [{ model: 'm', input: { texts: [5] } }, 'InvalidParameter', /array of strings \(input\.texts\[0\]: 5\)/],
  [
    { model: 'm', input: { texts: Array.from({ length: 11 }, () => 'x') } },
    'InvalidParameter',
    /^Value error, batch size is invalid, it should not be larger than 10\.: input\.contents/,
  ],
  [
    { model: 'm', input, parameters: { dimension: 0 } },
    'InvalidParameter',
    /^parameters\.dimension must be at least 1/,
  ],
  [{ model: 'm', input, parameters: { text_type: 'x' } }, 'InvalidParameter', /^parameters\.text_type must be one of/],
  [{ model: 'm', input, parameters: { output_type: 'sparse' } }, 'UnsupportedOperation', /Only dense vectors/],
  [{ model: 'm', input, parameters: { output_type: 'dense&sparse' } }, 'UnsupportedOperation', /Only dense vectors/],
];

for (const [body, code, says] of REFUSED) {
  test(`refuses ${JSON.stringify(body).slice(0, 80)}`, async () => {
    const { create, wishes } = createHouse();
    const { status, body: answer } = await create(body);
    const said = answer as { code: string; message: string; request_id: string };
    assert.deepEqual([status, said.code, said.request_id], [400, code, REQUEST_ID]);
    assert.match(said.message, says);
    assert.deepEqual(wishes, []);
  });
}

test('refuses to make a task of it, whichever name the header has', async () => {
  const { create } = createHouse();
  for (const name of ['x-dashscope-async', 'x-svc-async']) {
    const { status, body } = await create({ model: 'm', input }, { headers: { [name]: 'Enable' } });
    assert.equal(status, 403);
    assert.deepEqual(body, {
      code: 'AccessDenied',
      message: 'Access denied. Current user api does not support asynchronous calls.',
      request_id: REQUEST_ID,
    });
  }
});

test('an unknown model is told before how many texts it would take', async () => {
  const { create, wishes } = createHouse();
  const texts = Array<string>(11).fill('a');
  const { status } = await create({ model: 'nix', input: { texts } });
  assert.deepEqual([status, wishes], [404, []]);
});
