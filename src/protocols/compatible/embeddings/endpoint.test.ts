import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import type { EmbeddingWish } from '../../../generation/embed.ts';
import { ask, REQUEST_ID } from '../../fields/__fixtures__/ask.ts';
import { embeddingCatalogue } from '../../fields/__fixtures__/embedding-catalogue.ts';
import { embeddings } from './endpoint.ts';

const VECTORS = [Float32Array.of(0.6, -0.8, 0), Float32Array.of(0.1, 1 / 3, 1e-9)];

function createHouse({ strict = false } = {}) {
  const wishes: EmbeddingWish[] = [];
  const endpoint = embeddings({
    strict,
    catalogue: embeddingCatalogue,
    async embed(wish) {
      wishes.push(wish);
      return { vectors: VECTORS.slice(0, wish.inputs.length), promptTokens: 5 };
    },
  });
  return { wishes, create: (body: unknown) => ask(endpoint, { body }) };
}

test('answers the golden object with numbers', async () => {
  const { create, wishes } = createHouse();
  const { status, body, headers } = await create({ model: 'text-embedding-v4', input: ['a', 'b'] });
  assert.deepEqual([status, headers], [200, {}]);
  assert.equal(
    JSON.stringify(body),
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.600000024,-0.800000012,0]},' +
      '{"object":"embedding","index":1,"embedding":[0.100000001,0.333333343,9.99999972e-10]}],' +
      `"model":"text-embedding-v4","usage":{"prompt_tokens":5,"total_tokens":5},"id":"${REQUEST_ID}"}`,
  );
  assert.deepEqual(wishes, [
    {
      model: 'text-embedding-v4',
      inputs: [
        { text: 'a', field: 'input[0]' },
        { text: 'b', field: 'input[1]' },
      ],
    },
  ]);
});

test('answers the golden object with base64, which holds the same floats', async () => {
  const { create } = createHouse();
  const { body } = await create({ model: 'm', input: 'a', encoding_format: 'base64' });
  assert.equal(
    JSON.stringify(body),
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":"mpkZP83MTL8AAAAA"}],' +
      `"model":"m","usage":{"prompt_tokens":5,"total_tokens":5},"id":"${REQUEST_ID}"}`,
  );
  const bytes = Buffer.from('mpkZP83MTL8AAAAA', 'base64');
  assert.deepEqual(
    [0, 4, 8].map((at) => bytes.readFloatLE(at)),
    [...(VECTORS[0] ?? [])],
  );
});

test('numbers are read back as the same floats', async () => {
  const { create } = createHouse();
  const { body } = await create({ model: 'm', input: ['a', 'b'], encoding_format: 'float' });
  const { data } = JSON.parse(JSON.stringify(body)) as { data: { embedding: number[] }[] };
  assert.deepEqual(
    data.map(({ embedding }) => Float32Array.from(embedding)),
    VECTORS,
  );
});

test('passes on fewer dimensions, null as not set, and half a character as U+FFFD', async () => {
  const { create, wishes } = createHouse();
  await create({ model: 'm', input: 'a\ud800', dimensions: 2, encoding_format: null });
  await create({ model: 'm', input: 'a', dimensions: null });
  assert.deepEqual(wishes, [
    {
      model: 'm',
      inputs: [{ text: 'a\ufffd', field: 'input' }],
      dimensions: { count: 2, field: 'dimensions' },
    },
    { model: 'm', inputs: [{ text: 'a', field: 'input' }] },
  ]);
});

test('names what it does not know, or refuses it where it is told to', async () => {
  const body = { model: 'm', input: 'a', user: 'u' };
  assert.deepEqual((await createHouse().create(body)).headers, { 'x-parley-ignored': 'user' });
  assert.equal((await createHouse({ strict: true }).create(body)).status, 400);
});

const texts = (count: number): readonly string[] => Array.from({ length: count }, () => 'x');

const REFUSED: readonly (readonly [body: unknown, param: string | null, says: RegExp])[] = [
  [undefined, null, /^Required body invalid/],
  [[], null, /^Required body invalid/],
  [{ input: 'a' }, 'model', /^Required parameter\(model\) missing/],
  [{ model: '', input: 'a' }, 'model', /model/],
  [{ model: 'm' }, 'input', /^input must be a string or an array of strings.*missing/],
  [{ model: 'm', input: [] }, 'input', /^\[\] is too short - 'input'/],
  [{ model: 'm', input: [1, 2] }, 'input[0]', /token ids are not taken \(input\[0\]: 1\)/],
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

for (const [body, param, says] of REFUSED) {
  test(`refuses ${JSON.stringify(body)?.slice(0, 60)}`, async () => {
    const { create, wishes } = createHouse();
    const { status, body: answer } = await create(body);
    const { error } = answer as { error: { message: string; param: string | null; code: string } };
    assert.deepEqual([status, error.param, error.code], [400, param, 'invalid_parameter_error']);
    assert.match(error.message, says);
    assert.deepEqual(wishes, []);
  });
}

test('takes 25 texts for the names of the first two generations', async () => {
  const { create } = createHouse();
  assert.equal((await create({ model: 'text-embedding-v1', input: texts(25) })).status, 200);
  assert.equal((await create({ model: 'text-embedding-v3', input: texts(25) })).status, 400);
});

test('passes on what the engine refuses', async () => {
  const embed = () => Promise.reject(new ServiceError('overloaded', 'No place.'));
  const endpoint = embeddings({ embed, catalogue: embeddingCatalogue });
  assert.equal((await ask(endpoint, { body: { model: 'm', input: 'a' } })).status, 503);
});

test('an unknown model is told before how many texts it would take', async () => {
  const { create, wishes } = createHouse();
  const texts = Array<string>(11).fill('a');
  const { status } = await create({ model: 'nix', input: texts });
  assert.deepEqual([status, wishes], [404, []]);
});
