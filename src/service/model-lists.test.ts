import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { registerTestService } from './__fixtures__/register-test-service.ts';

// Without weights on this machine, only the model behind a server can be called.
describe('model lists of a service without weights', () => {
  const { getUrl, getSecret } = registerTestService({
    config:
      'regions: {cn-beijing: {port: 0}}\n' +
      'extraModelsFolders: []\n' +
      "models: {lab-chat: {url: 'http://127.0.0.1:9', server: openai, contextTokens: 4096}, " +
      "lab-translation: {url: 'http://127.0.0.1:9', server: openai, contextTokens: 4096, interfaces: [chat, native, translation]}}\n",
    env: { PARLEY_ENGINE_KIND: 'llama' },
  });

  for (const path of ['/v1/models', '/apps/anthropic/v1/models', '/api/v1/models?page_size=100'])
    test(`${path} omits models that cannot be called`, async () => {
      const response = await fetch(getUrl() + path, { headers: { authorization: `Bearer ${await getSecret()}` } });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.match(text, /"lab-chat"/);
      assert.doesNotMatch(text, /"svc-/);
    });

  test('/v1/models omits translation models, which answer no plain chat; they are found by name', async () => {
    const read = async (path: string) => {
      const response = await fetch(getUrl() + path, { headers: { authorization: `Bearer ${await getSecret()}` } });
      return { status: response.status, text: await response.text() };
    };
    assert.doesNotMatch((await read('/v1/models')).text, /lab-translation/);
    assert.equal((await read('/v1/models/lab-translation')).status, 200);
    assert.match((await read('/api/v1/models?page_size=100')).text, /"lab-translation"/);
  });

  test('an error for an unknown model suggests a model that can be called', async () => {
    const response = await fetch(`${getUrl()}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await getSecret()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    const text = await response.text();
    assert.equal(response.status, 404, text);
    assert.match(text, /Available models: lab-chat\. .*gpt-4o.*: lab-chat/);
    assert.doesNotMatch(text, /svc-/);
  });
});
