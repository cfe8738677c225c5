import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI, { BadRequestError } from 'openai';
import { lacksWeights } from '../models-folder.ts';
import { type Parley, startParley } from './harness.ts';

/** What the client's types do not know is sent all the same. */
interface Extra {
  readonly translation_options: object;
}

const ask = (content: string, translation_options: object) => ({
  model: 'qwen-mt-plus',
  messages: [{ role: 'user' as const, content }],
  translation_options,
});

const clientOf = ({ baseUrl: baseURL, key: apiKey }: Parley): OpenAI => new OpenAI({ baseURL, apiKey, maxRetries: 0 });

describe('the openai client for Node, translating with an echo for a model', () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    client = clientOf(parley);
  });
  after(() => parley?.stop());

  const options = { source_lang: 'auto', target_lang: 'German', terms: [{ source: 'park', target: 'Stadtgarten' }] };

  test('gets the translation, with what must not change and its terms', async () => {
    const question = ask('The park is big.\n\n- See {name} at https://a.example/b.\n', options);
    const { data, response } = await client.chat.completions.create(question).withResponse();
    assert.equal(
      data.choices[0]?.message.content,
      'You said: The Stadtgarten is big.\n\n- You said: See {name} at https://a.example/b.\n',
    );
    assert.equal(response.headers.get('x-parley-terms'), '1/1');
    assert.equal(data.model, 'qwen-mt-plus');
    // Three runs: the first line took a second one.
    assert.ok((data.usage?.prompt_tokens ?? 0) > 30);
  });

  test('gets a stream of its segments, and its own collector takes it', async () => {
    const question: OpenAI.ChatCompletionCreateParamsStreaming & Extra = {
      ...ask('One.\nTwo.', options),
      stream: true,
      stream_options: { include_usage: true },
    };
    const chunks = await Array.fromAsync(await client.chat.completions.create(question));
    const said = chunks.flatMap(({ choices }) => choices[0]?.delta.content || []);
    assert.deepEqual(said, ['You said: One.', '\nYou said: Two.']);
    assert.ok(chunks.at(-1)?.usage);
    const collected = await client.chat.completions.stream(ask('One.\nTwo.', options)).finalChatCompletion();
    assert.equal(collected.choices[0]?.message.content, said.join(''));
  });

  test('without options gets the answer to its prompt', async () => {
    const { model, messages } = ask('Translate one.', {});
    const answer = await client.chat.completions.create({ model, messages });
    assert.equal(answer.choices[0]?.message.content, 'You said: Translate one.');
  });

  test('with an unknown language or a system message raises BadRequestError', async () => {
    await assert.rejects(client.chat.completions.create(ask('One.', { target_lang: 'Frensh' })), (error) => {
      assert.ok(error instanceof BadRequestError, String(error));
      assert.match(error.message, /Current language settings are not supported! Did you mean French\?/);
      return true;
    });
    const { messages, ...rest } = ask('One.', options);
    const twice = { ...rest, messages: [{ role: 'system' as const, content: 'Be brief.' }, ...messages] };
    await assert.rejects(client.chat.completions.create(twice), BadRequestError);
  });
});

describe('the openai client for Node, translating', { skip: lacksWeights('svc-plus') }, () => {
  let parley: Parley;
  before(async () => {
    parley = await startParley();
  });
  after(() => parley?.stop());

  test('gets the wordings it wants, and the rest as it was', async () => {
    const terms = [{ source: 'delivery', target: '派件' }];
    const question = ask('The delivery will arrive tomorrow.\n\n`a = b`\n', {
      source_lang: 'en',
      target_lang: 'zh',
      terms,
    });
    const { data, response } = await clientOf(parley).chat.completions.create(question).withResponse();
    const content = data.choices[0]?.message.content ?? '';
    assert.match(content, /^[^\n]*派件[^\n]*\n\n`a = b`\n$/);
    assert.equal(response.headers.get('x-parley-terms'), '1/1');
    const streamed = await clientOf(parley).chat.completions.stream(question).finalContent();
    assert.equal(streamed, content);
  });
});
