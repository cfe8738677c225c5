import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI, { BadRequestError, NotFoundError } from 'openai';
import { getSpeechSkipReason, getWeightsSkipReason } from '../models-folder.ts';
import { type Parley, REQUEST_MS_MAX, startParley } from './harness.ts';

const MODEL = 'text-embedding-v4';

const TEXTS = ['The cat sits on the mat.', 'A kitten is lying on a rug.', 'Stock prices fell sharply today.'];

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, component, at) => sum + component * (b[at] ?? 0), 0);

describe(
  'vectors with the openai client for Node',
  { skip: getWeightsSkipReason('svc-plus') || getSpeechSkipReason('svc-embed') },
  () => {
    let parley: Parley;
    let client: OpenAI;
    before(async () => {
      parley = await startParley({ withTinyModel: true });
      client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.key, maxRetries: 0, timeout: REQUEST_MS_MAX });
    });
    after(() => parley?.stop());

    test('have length 1, and are closer for similar texts', async () => {
      const { object, model, data, usage } = await client.embeddings.create({ model: MODEL, input: TEXTS });
      assert.deepEqual([object, model, data.map(({ index }) => index)], ['list', MODEL, [0, 1, 2]]);
      const [cat, kitten, shares] = data.map(({ embedding }) => embedding);
      assert.ok(cat && kitten && shares);
      assert.ok(Math.abs(dot(cat, cat) - 1) < 1e-5);
      assert.ok(dot(cat, kitten) > dot(cat, shares) + 0.05 && dot(cat, kitten) > dot(kitten, shares) + 0.05);
      assert.ok(usage.prompt_tokens > 12 && usage.prompt_tokens < 60);
      assert.equal(usage.total_tokens, usage.prompt_tokens);
    });

    test('are the same in base64, which the client requests by default, and as numbers', async () => {
      const input = 'The same text.';
      const byDefault = await client.embeddings.create({ model: MODEL, input });
      const numbers = await client.embeddings.create({ model: MODEL, input, encoding_format: 'float' });
      const encoded = await client.embeddings.create({ model: MODEL, input, encoding_format: 'base64' });
      const floats = numbers.data[0]?.embedding.map(Math.fround);
      assert.deepEqual(byDefault.data[0]?.embedding, floats);
      const base64: unknown = encoded.data[0]?.embedding;
      assert.ok(typeof base64 === 'string');
      const bytes = Buffer.from(base64, 'base64');
      assert.deepEqual(
        Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4)),
        floats,
      );
    });

    test('have length 1 with fewer dimensions, too', async () => {
      const { data } = await client.embeddings.create({ model: MODEL, input: 'Short', dimensions: 32 });
      const vector = data[0]?.embedding ?? [];
      assert.equal(vector.length, 32);
      assert.ok(Math.abs(dot(vector, vector) - 1) < 1e-5);
    });

    test('are refused with the error classes of the client', async () => {
      await assert.rejects(client.embeddings.create({ model: MODEL, input: ['ok', ''] }), (error) => {
        assert.ok(error instanceof BadRequestError);
        assert.equal(error.param, 'input[1]');
        return true;
      });
      await assert.rejects(
        client.embeddings.create({ model: MODEL, input: 'x', dimensions: 100_000 }),
        (error) => error instanceof BadRequestError && error.param === 'dimensions',
      );
      await assert.rejects(client.embeddings.create({ model: 'svc-plus', input: 'x' }), NotFoundError);
    });
  },
);
