import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { Tokenize } from '../../../generation/tokenize.ts';
import { callEndpoint, TEST_REQUEST_ID } from '../../fields/__fixtures__/test-endpoint-call.ts';
import { createTokenizerEndpoint } from './endpoint.ts';

const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runner: { type: 'weights', weights: 'w', family: 'f' },
  contextTokens: 4096,
  abilities: { tools: true, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['native'],
  sampling: {},
  created: 0,
};

function createTestEndpoint() {
  const requests: Parameters<Tokenize>[0][] = [];
  const endpoint = createTokenizerEndpoint({
    catalogue: () => ({ resolve: async (requestedName) => ({ requestedName, entry: ENTRY }) }),
    async tokenize(request) {
      requests.push(request);
      const tokens = [
        { id: 5, text: 'Hel' },
        { id: 9, text: 'lo' },
      ];
      return { tokens, ...(request.input.type === 'messages' ? { prompt: 'Hello' } : {}) };
    },
  });
  return { requests, post: (body: unknown) => callEndpoint(endpoint, { body }) };
}

test('answers the golden object for a prompt, which is tokenized as plain text', async () => {
  const { post, requests } = createTestEndpoint();
  const { body, headers } = await post({ model: 'm', input: { prompt: 'Hello' }, parameters: {} });
  assert.equal(
    JSON.stringify(body),
    `{"output":{"token_ids":[5,9],"tokens":["Hel","lo"]},"usage":{"input_tokens":2},"request_id":"${TEST_REQUEST_ID}"}`,
  );
  assert.deepEqual(headers, {});
  assert.deepEqual(requests, [{ model: 'm', input: { type: 'text', text: 'Hello' } }]);
});

test('answers the golden object for a conversation, with its rendered prompt', async () => {
  const { post, requests } = createTestEndpoint();
  const messages = [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: [{ text: 'Hi' }, { text: '!' }] },
  ];
  const { body } = await post({ model: 'm', input: { messages, prompt: 'Well?' } });
  assert.equal(
    JSON.stringify(body),
    `{"output":{"token_ids":[5,9],"tokens":["Hel","lo"],"prompt":"Hello"},"usage":{"input_tokens":2},"request_id":"${TEST_REQUEST_ID}"}`,
  );
  assert.deepEqual(requests[0]?.input, {
    type: 'messages',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'text', text: '!' },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'Well?' }] },
    ],
  });
});

test('ignores an empty prompt beside messages', async () => {
  const { post, requests } = createTestEndpoint();
  await post({ model: 'm', input: { messages: [{ role: 'user', content: 'Hi' }], prompt: '' } });
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];
  assert.deepEqual(requests[0]?.input, { type: 'messages', messages });
});

const REJECTED: readonly (readonly [input: unknown, message: RegExp])[] = [
  [undefined, /^Either "prompt" or "messages" must exist/],
  [{}, /^Either "prompt" or "messages" must exist and cannot both be none/],
  [{ prompt: '' }, /^Either "prompt" or "messages"/],
  [{ prompt: 5 }, /^input\.prompt must be a string/],
  [{ messages: [] }, /^\[\] is too short - 'messages'/],
  [{ messages: [{ role: 'robot', content: 'x' }] }, /^Role must be user or assistant/],
  [{ messages: [{ role: 'user' }] }, /^The content field is a required field\./],
  [{ messages: [{ role: 'user', content: [{ image: 'x' }] }] }, /^input content must be a string\./],
];

for (const [input, expected] of REJECTED) {
  test(`rejects ${JSON.stringify(input)}`, async () => {
    const { post, requests } = createTestEndpoint();
    const { status, body } = await post({ model: 'm', input });
    const { code, message } = body as { code: string; message: string };
    assert.deepEqual([status, code], [400, 'InvalidParameter']);
    assert.match(message, expected);
    assert.deepEqual(requests, []);
  });
}
