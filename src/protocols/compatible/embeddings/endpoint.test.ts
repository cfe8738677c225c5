import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { EmbedRequest } from '../../../generation/embed.ts';
import { callEndpoint, TEST_REQUEST_ID } from '../../fields/__fixtures__/test-endpoint-call.ts';
import { createFakeEmbeddingCatalogue } from '../../fields/__fixtures__/fake-embedding-catalogue.ts';
import { createEmbeddingsEndpoint } from './endpoint.ts';

const VECTORS = [Float32Array.of(0.6, -0.8, 0), Float32Array.of(0.1, 1 / 3, 1e-9)];

function setUp({ strict = false } = {}) {
  const requests: EmbedRequest[] = [];
  const endpoint = createEmbeddingsEndpoint({
    strict,
    catalogue: createFakeEmbeddingCatalogue,
    async embed(request) {
      requests.push(request);
      return { vectors: VECTORS.slice(0, request.inputs.length), promptTokens: 5 };
    },
  });
  return { observedRequests: requests, create: (body: unknown) => callEndpoint(endpoint, { body }) };
}

test('returns the golden object with numbers', async () => {
  const { create, observedRequests } = setUp();
  const { status, body, headers } = await create({ model: 'text-embedding-v4', input: ['a', 'b'] });
  assert.deepEqual([status, headers], [200, {}]);
  assert.equal(
    JSON.stringify(body),
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.600000024,-0.800000012,0]},' +
      '{"object":"embedding","index":1,"embedding":[0.100000001,0.333333343,9.99999972e-10]}],' +
      `"model":"text-embedding-v4","usage":{"prompt_tokens":5,"total_tokens":5},"id":"${TEST_REQUEST_ID}"}`,
  );
  assert.deepEqual(observedRequests, [
    {
      model: 'text-embedding-v4',
      inputs: [
        { text: 'a', field: 'input[0]' },
        { text: 'b', field: 'input[1]' },
      ],
    },
  ]);
});

test('returns the golden object with base64 of the same floats', async () => {
  const { create } = setUp();
  const { body } = await create({ model: 'm', input: 'a', encoding_format: 'base64' });
  assert.equal(
    JSON.stringify(body),
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":"mpkZP83MTL8AAAAA"}],' +
      `"model":"m","usage":{"prompt_tokens":5,"total_tokens":5},"id":"${TEST_REQUEST_ID}"}`,
  );
  const bytes = Buffer.from('mpkZP83MTL8AAAAA', 'base64');
  assert.deepEqual(
    [0, 4, 8].map((at) => bytes.readFloatLE(at)),
    [...(VECTORS[0] ?? [])],
  );
});

test('numbers parse to the same floats', async () => {
  const { create } = setUp();
  const { body } = await create({ model: 'm', input: ['a', 'b'], encoding_format: 'float' });
  const { data } = JSON.parse(JSON.stringify(body)) as { data: { embedding: number[] }[] };
  assert.deepEqual(
    data.map(({ embedding }) => Float32Array.from(embedding)),
    VECTORS,
  );
});

test('passes on dimensions, treats null as not set, and replaces half a surrogate pair', async () => {
  const { create, observedRequests } = setUp();
  await create({ model: 'm', input: 'a\ud800', dimensions: 2, encoding_format: null });
  await create({ model: 'm', input: 'a', dimensions: null });
  assert.deepEqual(observedRequests, [
    {
      model: 'm',
      inputs: [{ text: 'a\ufffd', field: 'input' }],
      dimensions: { count: 2, field: 'dimensions' },
    },
    { model: 'm', inputs: [{ text: 'a', field: 'input' }] },
  ]);
});

test('names unknown fields, or rejects them in strict mode', async () => {
  const body = { model: 'm', input: 'a', user: 'u' };
  assert.deepEqual((await setUp().create(body)).headers, { 'x-parley-ignored': 'user' });
  assert.equal((await setUp({ strict: true }).create(body)).status, 400);
});

const texts = (count: number): readonly string[] => Array.from({ length: count }, () => 'x');

const REFUSED: readonly (readonly [body: unknown, param: string | null, message: RegExp])[] = [
  [undefined, null, /^Required body invalid/],
  [[], null, /^Required body invalid/],
  [{ input: 'a' }, 'model', /^Required parameter\(model\) missing/],
  [{ model: '', input: 'a' }, 'model', /model/],
  [{ model: 'm' }, 'input', /^input must be a string or an array of strings.*missing/],
  [{ model: 'm', input: [] }, 'input', /^\[\] is too short - 'input'/],
  [
    { model: 'm', input: [1, 2] },
    'input[0]',
    /token ids are not taken: .*check_embedding_ctx_length=False.* \(input\[0\]: 1\)/,
  ],
  [{ model: 'm', input: [[1, 2]] }, 'input[0]', /token ids are not taken/],
  [{ model: 'm', input: ['a', null] }, 'input[1]', /array of strings/],
  [
    { model: 'm', input: texts(11) },
    'input',
    /^Value error, batch size is invalid, it should not be larger than 10\.: input\.contents \(input: an array of 11\)$/,
  ],
  [{ model: 'text-embedding-v2', input: texts(26) }, 'input', /not be larger than 25\.: input\.contents/],
  [{ model: 'm', input: 'a', dimensions: 0 }, 'dimensions', /^dimensions must be at least 1, got 0\.$/],
  [{ model: 'm', input: 'a', dimensions: 1.5 }, 'dimensions', /^dimensions must be an integer/],
  [{ model: 'm', input: 'a', encoding_format: 'hex' }, 'encoding_format', /must be one of "float", "base64"/],
];

for (const [body, param, expectedMessage] of REFUSED) {
  test(`refuses ${JSON.stringify(body)?.slice(0, 60)}`, async () => {
    const { create, observedRequests } = setUp();
    const { status, body: answer } = await create(body);
    const { error } = answer as { error: { message: string; param: string | null; code: string } };
    assert.deepEqual([status, error.param, error.code], [400, param, 'invalid_parameter_error']);
    assert.match(error.message, expectedMessage);
    assert.deepEqual(observedRequests, []);
  });
}

test('accepts 25 texts for model names ending in -v1 and -v2', async () => {
  const { create } = setUp();
  assert.equal((await create({ model: 'text-embedding-v1', input: texts(25) })).status, 200);
  assert.equal((await create({ model: 'text-embedding-v3', input: texts(25) })).status, 400);
});

test('passes on errors of the engine', async () => {
  const embed = () => Promise.reject(new ServiceError('overloaded', 'No capacity.'));
  const endpoint = createEmbeddingsEndpoint({ embed, catalogue: createFakeEmbeddingCatalogue });
  assert.equal((await callEndpoint(endpoint, { body: { model: 'm', input: 'a' } })).status, 503);
});

test('reports an unknown model before too many texts', async () => {
  const { create, observedRequests } = setUp();
  const texts = Array<string>(11).fill('a');
  const { status } = await create({ model: 'nix', input: texts });
  assert.deepEqual([status, observedRequests], [404, []]);
});
