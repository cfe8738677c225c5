import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI, { BadRequestError, NotFoundError } from 'openai';
import { getWeightsSkipReason } from '../models-folder.ts';
import { type Parley, REQUEST_MS_MAX, startParley } from './harness.ts';
import { encodeScript } from './engine-script.ts';

const MODEL = 'svc-coder-turbo';

const createClient = ({ baseUrl: baseURL, key: apiKey }: Parley): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: REQUEST_MS_MAX });

describe('text completion with the openai client for Node', () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    client = createClient(parley);
  });
  after(() => parley?.stop());

  test('gets an answer', async () => {
    const answer = await client.completions.create({ model: MODEL, prompt: encodeScript('Hel', 'lo'), max_tokens: 8 });
    assert.equal(answer.object, 'text_completion');
    assert.match(answer.id, /^cmpl-/);
    assert.deepEqual(answer.choices, [{ text: 'Hello', index: 0, finish_reason: 'stop', logprobs: null }]);
    assert.equal(answer.usage?.completion_tokens, 2);
  });

  test('gets a stream with the same text, and its usage last', async () => {
    const stream = await client.completions.create({
      model: MODEL,
      prompt: encodeScript('Hel', 'lo'),
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    assert.equal(chunks.map(({ choices }) => choices[0]?.text ?? '').join(''), 'Hello');
    assert.deepEqual(
      chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? []),
      ['stop'],
    );
    assert.deepEqual(chunks.at(-1)?.choices, []);
    assert.equal(chunks.at(-1)?.usage?.completion_tokens, 2);
  });

  test('gets the text before its suffix, without the suffix', async () => {
    const suffix = '\n    return result\n';
    const { choices } = await client.completions.create({
      model: MODEL,
      prompt: encodeScript('x += 1', suffix, 'more'),
      suffix,
    });
    assert.deepEqual(
      choices.map(({ text, finish_reason: reason }) => [text, reason]),
      [['x += 1', 'stop']],
    );
  });

  test('gets n answers to each prompt of a list, in one object and in one stream', async () => {
    const params = { model: MODEL, prompt: [encodeScript('a'), encodeScript('b')], n: 2, best_of: 2 };
    const { choices } = await client.completions.create(params);
    assert.deepEqual(
      choices.map(({ index, text }) => [index, text]),
      [
        [0, 'a'],
        [1, 'a'],
        [2, 'b'],
        [3, 'b'],
      ],
    );
    const texts = ['', '', '', ''];
    for await (const chunk of await client.completions.create({ ...params, stream: true }))
      for (const { index, text } of chunk.choices) texts[index] += text;
    assert.deepEqual(texts, ['a', 'a', 'b', 'b']);
  });

  test('gets its prompt echoed, and log probabilities of prompt, answer and end token', async () => {
    const prompt = encodeScript('é', '!');
    const { choices } = await client.completions.create({ model: MODEL, prompt, echo: true, logprobs: 2 });
    const [choice] = choices;
    assert.equal(choice?.text, `${prompt}é!`);
    const {
      tokens,
      token_logprobs: values,
      top_logprobs: top,
      text_offset: offsets,
    } = choice.logprobs ?? assert.fail();
    assert.deepEqual(tokens, [prompt, 'é', '!', '<|endoftext|>']);
    assert.deepEqual(offsets, [0, prompt.length, prompt.length + 1, prompt.length + 2]);
    assert.deepEqual(values, [null, -0.25, -0.25, -0.25]);
    assert.deepEqual([top?.[0], Object.keys(top?.[1] ?? {})], [null, ['é']]);
  });

  test('gets log probabilities of token ids alone', async () => {
    const { choices, usage } = await client.completions.create({
      model: MODEL,
      prompt: [[1, 2], [3]],
      max_tokens: 0,
      echo: true,
      logprobs: 0,
    });
    assert.deepEqual(
      choices.map(({ text, finish_reason, logprobs }) => [text, finish_reason, logprobs?.token_logprobs]),
      [
        ['<1><2>', 'length', [null, -0.25]],
        ['<3>', 'length', [null]],
      ],
    );
    assert.equal(usage?.completion_tokens, 0);
  });

  test('may send its prompt as token ids', async () => {
    const { choices } = await client.completions.create({ model: MODEL, prompt: [[1, 2], [3]], max_tokens: 2 });
    assert.equal(choices.length, 2);
  });

  test('ends before a stop string, and at its token limit', async () => {
    const stopped = await client.completions.create({ model: MODEL, prompt: encodeScript('a', 'b', 'c'), stop: ['b'] });
    assert.deepEqual([stopped.choices[0]?.text, stopped.choices[0]?.finish_reason], ['a', 'stop']);
    const cut = await client.completions.create({ model: MODEL, prompt: encodeScript('a', 'b', 'c'), max_tokens: 2 });
    assert.deepEqual([cut.choices[0]?.text, cut.choices[0]?.finish_reason], ['ab', 'length']);
  });

  test('raises BadRequestError for a suffix alone, and NotFoundError for a chat-only model', async () => {
    await assert.rejects(client.completions.create({ model: MODEL, prompt: '', suffix: 'x' }), (error) => {
      assert.ok(error instanceof BadRequestError);
      assert.equal(error.param, 'prompt');
      return true;
    });
    await assert.rejects(client.completions.create({ model: 'svc-plus', prompt: 'x' }), NotFoundError);
  });

  test('can abort a stream', async () => {
    const stream = await client.completions.create({
      model: MODEL,
      prompt: encodeScript('a', { hang: true }),
      stream: true,
    });
    for await (const { choices } of stream) {
      assert.equal(choices[0]?.text, 'a');
      break;
    }
    assert.ok(stream.controller.signal.aborted);
  });
});

describe('text completion of a real model', { skip: getWeightsSkipReason('svc-plus') }, () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ withTinyModel: true });
    client = createClient(parley);
  });
  after(() => parley?.stop());

  test('gives the same text streamed or not, with log probabilities for every token', async () => {
    const params = { model: MODEL, prompt: 'def add(a, b):\n    return ', suffix: '\n\nprint(add(1, 2))\n' };
    const greedy = { ...params, temperature: 0, max_tokens: 24, logprobs: 1 };
    const [choice] = (await client.completions.create(greedy)).choices;
    assert.ok(choice);
    const stream = await client.completions.create({ ...greedy, stream: true });
    const chunks = await Array.fromAsync(stream);
    assert.equal(chunks.map((chunk) => chunk.choices[0]?.text ?? '').join(''), choice.text);
    assert.ok(choice.text.startsWith('a + b'));
    assert.equal(choice.logprobs?.tokens?.slice(0, 3).join(''), 'a + b');
  });
});
