import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { Tokenize } from '../../../generation/tokenize.ts';
import { ask, REQUEST_ID } from '../../fields/__fixtures__/ask.ts';
import { tokenizer } from './endpoint.ts';

const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runs: { type: 'weights', weights: 'w', family: 'f' },
  contextTokens: 4096,
  abilities: { tools: true, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['native'],
  sampling: {},
  created: 0,
};

function createHouse() {
  const wishes: Parameters<Tokenize>[0][] = [];
  const endpoint = tokenizer({
    catalogue: () => ({ resolve: (asked) => ({ asked, entry: ENTRY }) }),
    async tokenize(wish) {
      wishes.push(wish);
      const tokens = [
        { id: 5, text: 'Hel' },
        { id: 9, text: 'lo' },
      ];
      return { tokens, ...(wish.input.type === 'messages' ? { prompt: 'Hello' } : {}) };
    },
  });
  return { wishes, count: (body: unknown) => ask(endpoint, { body }) };
}

test('answers the golden object for a prompt, which is a text of its own', async () => {
  const { count, wishes } = createHouse();
  const { body, headers } = await count({ model: 'm', input: { prompt: 'Hello' }, parameters: {} });
  assert.equal(
    JSON.stringify(body),
    `{"output":{"token_ids":[5,9],"tokens":["Hel","lo"]},"usage":{"input_tokens":2},"request_id":"${REQUEST_ID}"}`,
  );
  assert.deepEqual(headers, {});
  assert.deepEqual(wishes, [{ model: 'm', input: { type: 'text', text: 'Hello' } }]);
});

test('answers the golden object for a conversation, with what it becomes', async () => {
  const { count, wishes } = createHouse();
  const messages = [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: [{ text: 'Hi' }, { text: '!' }] },
  ];
  const { body } = await count({ model: 'm', input: { messages, prompt: 'Well?' } });
  assert.equal(
    JSON.stringify(body),
    `{"output":{"token_ids":[5,9],"tokens":["Hel","lo"],"prompt":"Hello"},"usage":{"input_tokens":2},"request_id":"${REQUEST_ID}"}`,
  );
  assert.deepEqual(wishes[0]?.input, {
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

test('an empty prompt beside messages is one that was not set', async () => {
  const { count, wishes } = createHouse();
  await count({ model: 'm', input: { messages: [{ role: 'user', content: 'Hi' }], prompt: '' } });
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];
  assert.deepEqual(wishes[0]?.input, { type: 'messages', messages });
});

const REFUSED: readonly (readonly [input: unknown, says: RegExp])[] = [
  [undefined, /^Either "prompt" or "messages" must exist/],
  [{}, /^Either "prompt" or "messages" must exist and cannot both be none/],
  [{ prompt: '' }, /^Either "prompt" or "messages"/],
  [{ prompt: 5 }, /^input\.prompt must be a string/],
  [{ messages: [] }, /^\[\] is too short - 'messages'/],
  [{ messages: [{ role: 'robot', content: 'x' }] }, /^Role must be user or assistant/],
  [{ messages: [{ role: 'user' }] }, /^The content field is a required field\./],
  [{ messages: [{ role: 'user', content: [{ image: 'x' }] }] }, /^input content must be a string\./],
];

for (const [input, says] of REFUSED) {
  test(`refuses ${JSON.stringify(input)}`, async () => {
    const { count, wishes } = createHouse();
    const { status, body } = await count({ model: 'm', input });
    const { code, message } = body as { code: string; message: string };
    assert.deepEqual([status, code], [400, 'InvalidParameter']);
    assert.match(message, says);
    assert.deepEqual(wishes, []);
  });
}
