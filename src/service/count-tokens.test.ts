import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { registerTestService } from './__fixtures__/register-test-service.ts';

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

// Nothing listens at the addresses in the configuration that no test asks: a declared kind needs no query to count.
const ADDRESS = 'http://127.0.0.1:9/v1';

describe('counting the tokens of models on servers that cannot count', () => {
  const { getUrl, getSecret } = registerTestService({
    config: [
      'regions: {cn-beijing: {port: 0}}',
      'models:',
      `  strange: {url: '${ADDRESS}', server: openai, contextTokens: 4096, abilities: {vision: true}}`,
      `  related: {url: '${ADDRESS}', server: openai, contextTokens: 4096, family: qwen2, abilities: {vision: true}}`,
      '',
    ].join('\n'),
  });
  let key = '';
  before(async () => {
    key = await getSecret();
  });
  const post = async (path: string, body: object) => {
    const response = await fetch(getUrl() + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    const reply = (await response.json()) as Readonly<Record<string, unknown>>;
    assert.equal(response.status, 200, JSON.stringify(reply));
    return { tokens: reply.input_tokens, estimated: response.headers.get('x-parley-estimated') };
  };
  const count = (model: string, content: unknown, fields: object = {}) =>
    post('/v1/messages/count_tokens', { model, messages: [{ role: 'user', content }], ...fields });

  test('estimates without a tokenizer, and marks the number', async () => {
    assert.deepEqual(await count('strange', 'abcdefgh'), { tokens: 6, estimated: 'input_tokens' });
    assert.deepEqual(await count('strange', '你好世界'), { tokens: 8, estimated: 'input_tokens' });
    const tools = [{ name: 'f', description: 'Does it.', input_schema: { type: 'object' } }];
    const { tokens, estimated } = await count('strange', 'abcdefgh', { tools });
    assert.ok(Number(tokens) > 6 && estimated === 'input_tokens', String(tokens));
    const input = { model: 'strange', input: 'abcdefgh' };
    assert.deepEqual(await post('/v1/responses/input_tokens', input), { tokens: 6, estimated: 'input_tokens' });
  });

  test('counts with the tokenizer of loaded weights of the same family', async () => {
    const own = await count('svc-plus', 'Count these words.');
    assert.deepEqual(await count('related', 'Count these words.'), own);
    assert.equal(own.estimated, null);
  });

  test('estimates pictures, which the tokenizer of another model cannot count', async () => {
    const content = [
      { type: 'text', text: 'abcd' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL.split(',')[1] } },
    ];
    assert.deepEqual(await count('related', content), { tokens: 1_029, estimated: 'input_tokens' });
  });
});
