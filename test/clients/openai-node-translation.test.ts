import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI, { BadRequestError } from 'openai';
import { getWeightsSkipReason } from '../models-folder.ts';
import { type Parley, startParley } from './harness.ts';

/** A field that the types of the client do not have. The client sends it all the same. */
interface Extra {
  readonly translation_options: object;
}

const createParams = (content: string, translation_options: object) => ({
  model: 'qwen-mt-plus',
  messages: [{ role: 'user' as const, content }],
  translation_options,
});

const createClient = ({ baseUrl: baseURL, key: apiKey }: Parley): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 });

describe('translation with the openai client for Node and a model that echoes', () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    client = createClient(parley);
  });
  after(() => parley?.stop());

  const options = { source_lang: 'auto', target_lang: 'German', terms: [{ source: 'park', target: 'Stadtgarten' }] };

  test('gets the translation with its terms, and protected text unchanged', async () => {
    const question = createParams('The park is big.\n\n- See {name} at https://a.example/b.\n', options);
    const { data, response } = await client.chat.completions.create(question).withResponse();
    assert.equal(
      data.choices[0]?.message.content,
      'You said: The Stadtgarten is big.\n\n- You said: See {name} at https://a.example/b.\n',
    );
    assert.equal(response.headers.get('x-parley-terms'), '1/1');
    assert.equal(data.model, 'qwen-mt-plus');
    // The model ran three times: the first line needed a second attempt.
    assert.ok((data.usage?.prompt_tokens ?? 0) > 30);
  });

  test('gets a stream of segments, which the collector of the client accepts', async () => {
    const question: OpenAI.ChatCompletionCreateParamsStreaming & Extra = {
      ...createParams('One.\nTwo.', options),
      stream: true,
      stream_options: { include_usage: true },
    };
    const chunks = await Array.fromAsync(await client.chat.completions.create(question));
    const pieces = chunks.flatMap(({ choices }) => choices[0]?.delta.content || []);
    assert.deepEqual(pieces, ['You said: One.', '\nYou said: Two.']);
    assert.ok(chunks.at(-1)?.usage);
    const collected = await client.chat.completions.stream(createParams('One.\nTwo.', options)).finalChatCompletion();
    assert.equal(collected.choices[0]?.message.content, pieces.join(''));
  });

  test('without options gets the answer to its prompt', async () => {
    const { model, messages } = createParams('Translate one.', {});
    const answer = await client.chat.completions.create({ model, messages });
    assert.equal(answer.choices[0]?.message.content, 'You said: Translate one.');
  });

  test('raises BadRequestError for an unknown language or a system message', async () => {
    await assert.rejects(client.chat.completions.create(createParams('One.', { target_lang: 'Frensh' })), (error) => {
      assert.ok(error instanceof BadRequestError, String(error));
      assert.match(error.message, /Current language settings are not supported! Did you mean French\?/);
      return true;
    });
    const { messages, ...rest } = createParams('One.', options);
    const withSystemMessage = { ...rest, messages: [{ role: 'system' as const, content: 'Be brief.' }, ...messages] };
    await assert.rejects(client.chat.completions.create(withSystemMessage), BadRequestError);
  });
});

describe(
  'translation with the openai client for Node and a real model',
  { skip: getWeightsSkipReason('svc-plus') },
  () => {
    let parley: Parley;
    before(async () => {
      parley = await startParley();
    });
    after(() => parley?.stop());

    test('gets the requested terms, and code unchanged', async () => {
      const terms = [{ source: 'delivery', target: '派件' }];
      const question = createParams('The delivery will arrive tomorrow.\n\n`a = b`\n', {
        source_lang: 'en',
        target_lang: 'zh',
        terms,
      });
      const { data, response } = await createClient(parley).chat.completions.create(question).withResponse();
      const content = data.choices[0]?.message.content ?? '';
      assert.match(content, /^[^\n]*派件[^\n]*\n\n`a = b`\n$/);
      assert.equal(response.headers.get('x-parley-terms'), '1/1');
      const streamed = await createClient(parley).chat.completions.stream(question).finalContent();
      assert.equal(streamed, content);
    });
  },
);
