import assert from 'node:assert/strict';
import { before, beforeEach, describe, test } from 'node:test';
import { SUMMARY_PARTS_MAX } from '../generation/limits.ts';
import { createFakeEngines } from './__fixtures__/fake-engines.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';

// Tests of the compaction of responses over HTTP, with a fake engine.

type Fields = Readonly<Record<string, unknown>>;

interface Body extends Fields {
  readonly id: string;
  readonly output: readonly Fields[];
  readonly usage: Readonly<Record<string, number>>;
  readonly error: { readonly message: string; readonly param: string | null } | null;
}

const COMPACT = '/v1/responses/compact';
const CONTEXT_TOKENS = 300;

const user = (content: string): Fields => ({ role: 'user', content });
const assistant = (content: string): Fields => ({ role: 'assistant', content });
const CALL = { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Paris"}' };
const RESULT = { type: 'function_call_output', call_id: 'c1', output: 'sunny, 21 degrees' };
const HISTORY = [
  user('How is Paris?'),
  CALL,
  RESULT,
  assistant('It is sunny.'),
  user('And Lyon?'),
  assistant('Rainy.'),
];

describe('the compaction of a history', () => {
  const { engines, prompts, enqueue } = createFakeEngines({ contextTokens: CONTEXT_TOKENS });
  const { getUrl, getSecret } = registerTestService({ engines });
  let key = '';
  before(async () => {
    key = await getSecret();
  });
  beforeEach(() => {
    prompts.length = 0;
  });

  const post = async (path: string, fields: Fields) => {
    const response = await fetch(getUrl() + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
  };
  const compact = async (fields: Fields) => {
    const answer = await post(COMPACT, { model: 'svc-plus', ...fields });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer;
  };
  const listKinds = ({ output }: Body): unknown[] => output.map(({ type, role }) => role ?? type);

  test('keeps user messages and replaces the rest by one item with the summary', async () => {
    enqueue(['Paris is ', 'sunny.']);
    const { body, headers } = await compact({ input: HISTORY, instructions: 'Heed the weather.' });
    assert.match(body.id, /^resp_/);
    assert.equal(body['object'], 'response.compaction');
    assert.equal(typeof body['created_at'], 'number');
    assert.deepEqual(listKinds(body), ['user', 'user', 'compaction']);
    assert.deepEqual(
      body.output.slice(0, 2).map(({ content }) => content),
      [[{ type: 'input_text', text: 'How is Paris?' }], [{ type: 'input_text', text: 'And Lyon?' }]],
    );
    assert.match(String(body.output[2]?.['id']), /^cmp_/);
    assert.equal(prompts.length, 1);
    for (const text of [
      'Heed the weather.',
      'Tool call: weather({"city":"Paris"})',
      'Tool result: sunny, 21 degrees',
      'Assistant: Rainy.',
    ])
      assert.ok(prompts[0]?.includes(text), text);
    assert.ok((body.usage['input_tokens'] ?? 0) > 20);
    assert.equal(body.usage['output_tokens'], 2);
    assert.equal(headers.get('x-parley-ignored'), null);
    assert.equal(headers.get('x-parley-dropped-items'), null);
  });

  test('shows the model the summary when the items come back, and compacts them again', async () => {
    enqueue(['Paris is sunny; ', '巴黎 😀']);
    const { output } = (await compact({ input: HISTORY })).body;
    const input = [...output, user('Thanks')];
    const next = await post('/v1/responses', { model: 'svc-plus', input });
    assert.equal(next.status, 200, JSON.stringify(next.body));
    assert.match(prompts.at(-1) ?? '', /Summary of the conversation so far.*\n\nParis is sunny; 巴黎 😀/);
    assert.doesNotMatch(prompts.at(-1) ?? '', /parley-summary/);
    const conversation = (await post('/v1/conversations', {})).body.id;
    await post(`/v1/conversations/${conversation}/items`, { items: output });
    await post('/v1/responses', { model: 'svc-plus', conversation, input: 'Thanks' });
    assert.match(prompts.at(-1) ?? '', /Paris is sunny; 巴黎 😀/);
    enqueue(['All ', 'of it.']);
    const again = await compact({ input });
    assert.match(prompts.at(-1) ?? '', /Earlier summary: Paris is sunny/);
    assert.deepEqual(listKinds(again.body), ['user', 'user', 'user', 'compaction']);
  });

  test('compacts the history of an earlier response', async () => {
    enqueue(['Bonjour.']);
    const first = await post('/v1/responses', { model: 'svc-plus', input: 'Greet me' });
    enqueue(['It said hello.']);
    const { body } = await compact({ previous_response_id: first.body.id });
    assert.deepEqual(listKinds(body), ['user', 'compaction']);
    assert.match(prompts.at(-1) ?? '', /User: Greet me\n\nAssistant: Bonjour\./);
    const missing = await post(COMPACT, { model: 'svc-plus', previous_response_id: 'resp_none' });
    assert.equal(missing.status, 404);
  });

  test('summarizes a history in parts when it does not fit into the context', async () => {
    const words = Array.from({ length: 500 }, (_, index) => `w${index}`).join(' ');
    const { body, headers } = await compact({ input: [user('Start'), assistant(words), assistant('The end.')] });
    assert.ok(prompts.length > 2, String(prompts.length));
    for (const word of ['w0 ', 'w250 ', 'w499', 'The end.'])
      assert.ok(
        prompts.some((text) => text.includes(word)),
        word,
      );
    assert.match(prompts.at(-1) ?? '', /The summary so far:\n\nok/);
    assert.deepEqual(listKinds(body), ['user', 'compaction']);
    assert.ok((body.usage['input_tokens'] ?? 0) > 500, 'the tokens of all runs count');
    assert.equal(headers.get('x-parley-dropped-items'), null);
  });

  test('drops the oldest items of a history that is too long for all parts, and says so', async () => {
    const long = Array.from({ length: 60 }, (_, at) => assistant(`item${at} ${'word '.repeat(100)}`));
    const { headers } = await compact({ input: [user('Start'), ...long] });
    assert.ok(Number(headers.get('x-parley-dropped-items')) > 0);
    assert.ok(prompts.length <= SUMMARY_PARTS_MAX + 4, String(prompts.length));
    assert.ok(prompts.some((text) => text.includes('item59 ')));
    assert.ok(!prompts.at(-1)?.includes('item0 '));
  });

  test('runs no model where there is nothing to summarize', async () => {
    const { body } = await compact({ input: [user('A'), { role: 'developer', content: 'B' }] });
    assert.deepEqual(listKinds(body), ['user', 'developer']);
    assert.equal(body.usage['total_tokens'], 0);
    assert.equal(prompts.length, 0);
  });

  test('names items that it cannot read, and unknown fields', async () => {
    const foreign = { type: 'compaction', encrypted_content: 'gAAAAAB' };
    const input = [assistant('Hi'), foreign, { type: 'mcp_list_tools', server_label: 's', tools: [] }];
    const { headers, body } = await compact({ input, prompt_cache_key: 'p' });
    assert.equal(headers.get('x-parley-ignored'), 'input[1],input[2],prompt_cache_key');
    // A client replaces its history by the output, so items that only others can read stay in it.
    assert.deepEqual(
      body.output.slice(0, 2).map(({ type }) => type),
      ['compaction', 'mcp_list_tools'],
    );
    assert.equal(body.output[0]?.['encrypted_content'], 'gAAAAAB');
    assert.equal(body.output.length, 3);
    const next = await post('/v1/responses', { model: 'svc-plus', input: [foreign, user('Hi')] });
    assert.equal(next.status, 200);
    assert.equal(next.headers.get('x-parley-ignored'), 'input[0]');
  });

  test('fails where the model writes nothing or the request has nothing', async () => {
    enqueue(['  ']);
    const empty = await post(COMPACT, { model: 'svc-plus', input: [assistant('Hi')] });
    assert.equal(empty.status, 500);
    for (const fields of [{}, { input: [] }]) {
      const { status, body } = await post(COMPACT, { model: 'svc-plus', ...fields });
      assert.equal(status, 400);
      assert.equal(body.error?.param, 'input');
    }
    const orphan = await post(COMPACT, { model: 'svc-plus', input: [RESULT] });
    assert.equal(orphan.body.error?.param, 'input[0].call_id');
  });
});
