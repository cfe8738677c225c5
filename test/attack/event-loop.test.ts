import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { JSON_BODY_BYTES_MAX } from '../../src/core/limits.ts';
import { ATTACKER_ADDRESS, describeAttacks, type Attack, type AttackTarget } from './harness.ts';

// Requests with a valid key whose body costs the service much time in its one thread.

const CHAT = '/v1/chat/completions';
const TOKENIZER = '/api/v1/tokenizer';
const GENERATION = '/api/v1/services/aigc/text-generation/generation';
const MESSAGES = '/apps/anthropic/v1/messages';

/** Characters of a text that fills a body. */
const LARGE_TEXT_CHARS = JSON_BODY_BYTES_MAX - 4096;

interface HostileRequest {
  readonly path: string;
  readonly body: unknown;
  /** The request is sent this often, at the same time. Default: 10. */
  readonly count?: number;
  /** Status of each answer. Default: 200. */
  readonly status?: number;
  /** Text that an answer contains. */
  readonly answer?: RegExp;
  readonly memoryMibMax?: number;
}

/** Creates an attack: the same request several times at once. */
const repeatRequest = (
  name: string,
  { path, body, count = 10, status = 200, answer = /./, memoryMibMax }: HostileRequest,
): Attack => ({
  name,
  ...(memoryMibMax === undefined ? {} : { memoryMibMax }),
  async run(target) {
    const bytes = Buffer.from(JSON.stringify(body));
    const answers = await Promise.all(Array.from({ length: count }, () => post(target, path, bytes)));
    for (const each of answers) {
      assert.equal(each.status, status, each.text.slice(0, 500));
      assert.match(each.text, answer);
    }
  },
});

function post({ address, key }: AttackTarget, path: string, bytes: Buffer): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const options = { method: 'POST', headers, localAddress: ATTACKER_ADDRESS, agent: new Agent() };
    request(`${address}${path}`, options, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (piece: string) => {
          text += piece;
        })
        .on('error', reject)
        .on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    })
      .on('error', reject)
      .end(bytes);
  });
}

const repeat = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

const createMembers = (count: number, value: unknown): object =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, value]));

const chat = (fields: object): object => ({
  model: 'svc-plus',
  max_tokens: 1,
  messages: [{ role: 'user', content: 'script:["a"]' }],
  ...fields,
});

const say = (content: unknown, fields: object = {}): object =>
  chat({ messages: [{ role: 'user', content, ...fields }] });

const WORDS = 'ab '.repeat(LARGE_TEXT_CHARS / 3);
const BLANKS = ' '.repeat(LARGE_TEXT_CHARS);
const TOO_LONG = { status: 400, answer: /the prompt has \d+ characters/ };

describeAttacks('attacks with large bodies', {}, [
  repeatRequest('10 × 45,000 unknown keys', { path: CHAT, body: chat(createMembers(45_000, 1)) }),
  repeatRequest('10 × 45,000 unknown keys that are null', { path: CHAT, body: chat(createMembers(45_000, null)) }),
  repeatRequest('10 × 45,000 unknown keys in a message', {
    path: CHAT,
    body: say('script:["a"]', createMembers(45_000, 1)),
  }),
  repeatRequest('10 × 90,000 unknown keys', {
    path: CHAT,
    body: chat(createMembers(90_000, 1)),
    status: 400,
    answer: /its objects have more than 50000 members/,
  }),
  repeatRequest('10 × 9,000 messages with an unknown key', {
    path: CHAT,
    body: chat({ messages: repeat(9_000, { role: 'user', content: 'a', foo: 1 }) }),
    ...TOO_LONG,
  }),
  repeatRequest('10 × 9,000 messages with parts', {
    path: MESSAGES,
    body: chat({ messages: repeat(9_000, { role: 'user', content: [{ type: 'text', text: 'a', foo: 1 }] }) }),
    status: 400,
    answer: /prompt is too long/,
  }),
  repeatRequest('10 × 9,000 native messages with an unknown key', {
    path: GENERATION,
    body: { model: 'svc-plus', input: { messages: repeat(9_000, { role: 'user', content: 'a', foo: 1 }) } },
    ...TOO_LONG,
  }),
  repeatRequest('10 × 9,000 items with an unknown key', {
    path: '/v1/responses',
    body: { model: 'svc-plus', input: repeat(9_000, { role: 'user', content: 'a', foo: 1 }) },
    ...TOO_LONG,
  }),
  repeatRequest('4 × 16 MB of words to the tokenizer', {
    path: TOKENIZER,
    body: { model: 'svc-plus', input: { prompt: WORDS } },
    count: 4,
    ...TOO_LONG,
  }),
  repeatRequest('4 × 16 MB of blanks to the tokenizer', {
    path: TOKENIZER,
    body: { model: 'svc-plus', input: { prompt: BLANKS } },
    count: 4,
    ...TOO_LONG,
  }),
  repeatRequest('4 × 16 MB of words whose tokens are counted', {
    path: `${MESSAGES}/count_tokens`,
    body: say(WORDS),
    count: 4,
    ...TOO_LONG,
  }),
  repeatRequest('4 × 16 MB of words to chat', { path: CHAT, body: say(WORDS), count: 4, ...TOO_LONG }),
  repeatRequest('4 × 16 MB of blanks to chat', { path: CHAT, body: say(BLANKS), count: 4, ...TOO_LONG }),
  repeatRequest('4 × a tool with 16 MB of description', {
    path: CHAT,
    body: chat({ tools: [{ type: 'function', function: { name: 'f', description: WORDS } }] }),
    count: 4,
    ...TOO_LONG,
  }),
  repeatRequest('4 × a call with 16 MB of arguments', {
    path: CHAT,
    body: chat({
      messages: [
        { role: 'user', content: 'a' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: BLANKS } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'a' },
      ],
    }),
    count: 4,
    ...TOO_LONG,
  }),
  repeatRequest('4 × 16 MB of words to translate', {
    path: CHAT,
    body: { ...say(WORDS), model: 'svc-mt-plus', translation_options: { source_lang: 'auto', target_lang: 'English' } },
    count: 4,
    status: 400,
    answer: /more than 8192 tokens/,
  }),
  repeatRequest('4 × a long run of blanks that may fit', { path: CHAT, body: say(' '.repeat(30_000)), count: 4 }),
  repeatRequest('4 × a conversation of 20 items with 16 MB', {
    path: '/v1/conversations',
    body: { items: repeat(20, { role: 'user', content: 'ab '.repeat(LARGE_TEXT_CHARS / 70) }) },
    count: 4,
  }),
  repeatRequest('10 × a conversation of 20 items with 1,000 parts', {
    path: '/v1/conversations',
    body: { items: repeat(20, { role: 'user', content: repeat(1_000, { type: 'input_text', text: 'x' }) }) },
  }),
  repeatRequest('10 × 90,000 fileid://', {
    path: CHAT,
    body: chat({
      messages: [
        { role: 'system', content: repeat(90_000, 'fileid://file-1').join() },
        { role: 'user', content: 'a' },
      ],
    }),
    status: 400,
    answer: /at most 100 files/,
  }),
  repeatRequest('4 × 900,000 fileid:// in an item', {
    path: '/v1/responses',
    body: {
      model: 'svc-plus',
      input: [
        { role: 'system', content: repeat(900_000, 'fileid://file-1').join() },
        { role: 'user', content: 'a' },
      ],
    },
    count: 4,
    status: 400,
    answer: /at most 100 files/,
  }),
  repeatRequest('6 × a schema of 250 patterns', {
    path: CHAT,
    count: 6,
    body: chat({
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'patterns',
          schema: {
            anyOf: Array.from({ length: 250 }, (_, at) => ({ type: 'string', pattern: `^(a|b)*c{${at}}[a-z]+$` })),
          },
        },
      },
    }),
  }),
  repeatRequest('10 × a tool with 45,000 parameters', {
    path: CHAT,
    body: chat({
      tools: [
        {
          type: 'function',
          function: { name: 'f', parameters: { type: 'object', properties: createMembers(45_000, {}) } },
        },
      ],
    }),
  }),
  repeatRequest('10 × 45,000 pairs of metadata', {
    path: '/v1/conversations',
    body: { metadata: createMembers(45_000, 'a') },
    status: 400,
    answer: /at most 16 pairs/,
  }),
  repeatRequest('10 × 190,000 stop sequences', {
    path: CHAT,
    body: chat({ stop: repeat(190_000, 'a') }),
    status: 400,
    answer: /stop must be/,
  }),
  repeatRequest('10 × 45,000 entries of logit_bias', {
    path: CHAT,
    body: chat({ logit_bias: Object.fromEntries(Array.from({ length: 45_000 }, (_, at) => [at, 1])) }),
    status: 400,
    answer: /at most 1024 entries/,
  }),
  repeatRequest('10 × 190,000 texts to embed', {
    path: '/v1/embeddings',
    body: { model: 'svc-embed', input: repeat(190_000, 'a') },
    status: 400,
    answer: /batch size is invalid/,
  }),
  repeatRequest('10 × an enum of 90,000 values', {
    path: CHAT,
    body: chat({
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'values', schema: { enum: Array.from({ length: 90_000 }, (_, at) => `v${at}`) } },
      },
    }),
  }),
  repeatRequest('10 × 3,000 lists of 60 levels', {
    path: CHAT,
    body: chat({ x: repeat(3_000, JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`)) }),
  }),
]);
