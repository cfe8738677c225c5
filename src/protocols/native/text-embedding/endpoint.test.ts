import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EmbedRequest } from '../../../generation/embed.ts';
import { callEndpoint, TEST_REQUEST_ID, type EndpointCall } from '../../fields/__fixtures__/test-endpoint-call.ts';
import { createFakeEmbeddingCatalogue } from '../../fields/__fixtures__/fake-embedding-catalogue.ts';
import { createTextEmbeddingEndpoint } from './endpoint.ts';

function createTestEndpoint() {
  const requests: EmbedRequest[] = [];
  const endpoint = createTextEmbeddingEndpoint({
    catalogue: createFakeEmbeddingCatalogue,
    async embed(request) {
      requests.push(request);
      return { vectors: request.inputs.map(() => Float32Array.of(0.6, -0.8)), promptTokens: 3 };
    },
  });
  return {
    requests,
    create: (body: unknown, call: EndpointCall = {}) => callEndpoint(endpoint, { ...call, body }),
  };
}

test('answers the golden object', async () => {
  const { create, requests } = createTestEndpoint();
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
      `"usage":{"total_tokens":3},"request_id":"${TEST_REQUEST_ID}"}`,
  );
  assert.deepEqual(requests, [
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

test('names parameters without effect', async () => {
  const { create } = createTestEndpoint();
  const input = { texts: ['a'] };
  const { headers } = await create({ model: 'm', input, parameters: { text_type: 'query', instruct: 'Find', x: 1 } });
  assert.deepEqual(headers, { 'x-parley-ignored': 'parameters.text_type,parameters.instruct,parameters.x' });
  assert.deepEqual((await create({ model: 'm', input, parameters: {} })).headers, {});
});

const input = { texts: ['a'] };

const REJECTED: readonly (readonly [body: unknown, code: string, message: RegExp])[] = [
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
  [{ model: 'm', input, parameters: { output_type: 'sparse' } }, 'UnsupportedOperation', /Only dense embeddings/],
  [{ model: 'm', input, parameters: { output_type: 'dense&sparse' } }, 'UnsupportedOperation', /Only dense embeddings/],
];

for (const [body, code, expected] of REJECTED) {
  test(`rejects ${JSON.stringify(body).slice(0, 80)}`, async () => {
    const { create, requests } = createTestEndpoint();
    const { status, body: errorBody } = await create(body);
    const error = errorBody as { code: string; message: string; request_id: string };
    assert.deepEqual([status, error.code, error.request_id], [400, code, TEST_REQUEST_ID]);
    assert.match(error.message, expected);
    assert.deepEqual(requests, []);
  });
}

test('rejects an asynchronous task, by either header name', async () => {
  const { create } = createTestEndpoint();
  for (const name of ['x-dashscope-async', 'x-svc-async']) {
    const { status, body } = await create({ model: 'm', input }, { headers: { [name]: 'Enable' } });
    assert.equal(status, 403);
    assert.deepEqual(body, {
      code: 'AccessDenied',
      message: 'Access denied. Current user api does not support asynchronous calls.',
      request_id: TEST_REQUEST_ID,
    });
  }
});

test('reports an unknown model before too many texts', async () => {
  const { create, requests } = createTestEndpoint();
  const texts = Array<string>(11).fill('a');
  const { status } = await create({ model: 'nix', input: { texts } });
  assert.deepEqual([status, requests], [404, []]);
});
