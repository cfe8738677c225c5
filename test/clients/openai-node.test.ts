import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI, { AuthenticationError, BadRequestError, NotFoundError } from 'openai';
import { getWeightsSkipReason } from '../models-folder.ts';
import { type Parley, REQUEST_MS_MAX, startParley } from './harness.ts';

const MODEL = 'svc-plus';
const messages = [{ role: 'user' as const, content: 'Count from one to ten in words, separated by commas.' }];

/** Greedy sampling, so that two calls can be compared. Short, because the machine is slow. */
const question = { model: MODEL, messages, temperature: 0, seed: 7, max_tokens: 8 };

const createClient = ({ baseUrl: baseURL, key: apiKey }: { baseUrl: string; key: string }): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: REQUEST_MS_MAX });

describe('the openai client for Node', { skip: getWeightsSkipReason(MODEL) }, () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ withTinyModel: true });
    client = createClient(parley);
  });
  after(() => parley?.stop());

  test('gets an answer', async () => {
    const answer = await client.chat.completions.create(question);
    assert.equal(answer.object, 'chat.completion');
    assert.equal(answer.model, MODEL);
    assert.match(answer.id, /^chatcmpl-/);
    assert.equal(answer.choices.length, 1);
    assert.equal(answer.choices[0]?.message.role, 'assistant');
    assert.ok(answer.choices[0]?.message.content);
    const { prompt_tokens, completion_tokens, total_tokens } = answer.usage ?? assert.fail('no usage');
    assert.ok(prompt_tokens > 10 && completion_tokens > 0 && completion_tokens <= 8);
    assert.equal(total_tokens, prompt_tokens + completion_tokens);
  });

  test('gets a stream with the same text, and its usage last', async () => {
    const plain = await client.chat.completions.create(question);
    const stream = await client.chat.completions.create({
      ...question,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await Array.fromAsync(stream);
    assert.equal(chunks[0]?.choices[0]?.delta.role, 'assistant');
    assert.equal(
      chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''),
      plain.choices[0]?.message.content,
    );
    assert.deepEqual(
      chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? []),
      [plain.choices[0]?.finish_reason],
    );
    assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
    const last = chunks.at(-1);
    assert.deepEqual(last?.choices, []);
    assert.equal(last?.usage?.completion_tokens, plain.usage?.completion_tokens);
    assert.equal(last?.usage?.prompt_tokens, plain.usage?.prompt_tokens);
    assert.ok(chunks.slice(0, -1).every((chunk) => chunk.usage === null));
  });

  test('gets no usage in a stream unless requested', async () => {
    const chunks = await Array.fromAsync(await client.chat.completions.create({ ...question, stream: true }));
    assert.ok(chunks.every((chunk) => chunk.choices.length === 1 && (chunk.usage ?? null) === null));
  });

  test('can use the stream collector of the client', async () => {
    const collected = await client.chat.completions.stream(question).finalChatCompletion();
    assert.ok(collected.choices[0]?.message.content);
  });

  test('gets an answer that ends before a stop string', async () => {
    const whole = (await client.chat.completions.create(question)).choices[0]?.message.content ?? '';
    const stop = whole.slice(8, 13);
    const [choice] = (await client.chat.completions.create({ ...question, stop })).choices;
    assert.equal(choice?.message.content, whole.slice(0, whole.indexOf(stop)));
    assert.equal(choice?.finish_reason, 'stop');
  });

  test('gets two choices', async () => {
    const { choices, usage } = await client.chat.completions.create({ ...question, temperature: 1, n: 2 });
    assert.deepEqual(
      choices.map(({ index }) => index),
      [0, 1],
    );
    assert.ok(choices.every(({ message }) => message.content));
    assert.ok((usage?.completion_tokens ?? 0) > 8 / 2);
  });

  test('gets two choices in one stream, distinguished by index', async () => {
    const stream = await client.chat.completions.create({ ...question, temperature: 1, n: 2, stream: true });
    const finishedChoices = new Set<number>();
    for await (const { choices } of stream) {
      for (const choice of choices) if (choice.finish_reason) finishedChoices.add(choice.index);
    }
    assert.deepEqual(finishedChoices, new Set([0, 1]));
  });

  test('gets log probabilities for every token', async () => {
    const { choices } = await client.chat.completions.create({ ...question, logprobs: true, top_logprobs: 3 });
    const tokens = choices[0]?.logprobs?.content ?? [];
    assert.equal(Buffer.from(tokens.flatMap(({ bytes }) => bytes ?? [])).toString(), choices[0]?.message.content);
    for (const { logprob, token, top_logprobs } of tokens) {
      assert.ok(logprob <= 0);
      assert.equal(top_logprobs.length, 3);
      // Greedy sampling takes the most likely token.
      assert.equal(top_logprobs[0]?.token, token);
    }
  });

  test('gets finish reason length at its token limit', async () => {
    const { choices, usage } = await client.chat.completions.create({ ...question, max_tokens: 3 });
    assert.equal(choices[0]?.finish_reason, 'length');
    assert.equal(usage?.completion_tokens, 3);
  });

  test('raises AuthenticationError for a wrong key', async () => {
    const clientWithWrongKey = createClient({ ...parley, key: 'sk-unknown-key' });
    await assert.rejects(clientWithWrongKey.chat.completions.create(question), (error) => {
      assert.ok(error instanceof AuthenticationError, String(error));
      assert.equal(error.status, 401);
      assert.equal(error.code, 'invalid_api_key');
      return true;
    });
  });

  test('raises NotFoundError for an unknown model', async () => {
    for (const stream of [false, true]) {
      await assert.rejects(client.chat.completions.create({ ...question, model: 'no-such-model', stream }), (error) => {
        assert.ok(error instanceof NotFoundError, String(error));
        assert.equal(error.code, 'model_not_found');
        assert.match(error.message, /no-such-model/);
        return true;
      });
    }
  });

  test('raises BadRequestError for a temperature of 3, and names the field', async () => {
    await assert.rejects(client.chat.completions.create({ ...question, temperature: 3 }), (error) => {
      assert.ok(error instanceof BadRequestError, String(error));
      assert.equal(error.param, 'temperature');
      assert.equal(error.code, 'invalid_parameter_error');
      assert.ok(error.requestID);
      return true;
    });
  });

  test('lists the models and retrieves one', async () => {
    const ids = (await Array.fromAsync(client.models.list())).map(({ id }) => id);
    assert.ok(ids.includes(MODEL) && ids.includes('svc-tiny'), ids.join());
    const model = await client.models.retrieve(MODEL);
    assert.deepEqual([model.id, model.object], [MODEL, 'model']);
    await assert.rejects(client.models.retrieve('no-such-model'), NotFoundError);
  });

  test('gets a different request id for each call', async () => {
    const call = () => client.chat.completions.create({ ...question, max_tokens: 1 }).withResponse();
    const [one, two] = [await call(), await call()];
    assert.ok(one.request_id);
    assert.equal(one.response.headers.get('x-request-id'), one.request_id);
    assert.notEqual(one.request_id, two.request_id);
  });

  test('may leave out the prefix of the compatible interface', async () => {
    const bare = createClient({ ...parley, baseUrl: `${parley.address}/v1` });
    const answer = await bare.chat.completions.create({ ...question, max_tokens: 2 });
    assert.equal(answer.usage?.completion_tokens, 2);
  });
});

describe(
  'the openai client for Node and an engine with one sequence',
  { skip: getWeightsSkipReason('svc-tiny') },
  () => {
    let parley: Parley;
    before(async () => {
      parley = await startParley({ withTinyModel: true, sequences: 1 });
    });
    after(() => parley?.stop());

    test('frees the sequence when it aborts a stream', async () => {
      const client = createClient(parley);
      const tiny = { model: 'svc-tiny', messages };
      // Without end tokens the model continues for 30 s.
      const tokensMax = 1500;
      const endless = { ...tiny, max_tokens: tokensMax, logit_bias: { '0': -100, '2': -100 }, stream: true } as const;
      const stream = await client.chat.completions.create(endless);
      const chunks = stream[Symbol.asyncIterator]();
      for (let seen = 0; seen < 3; seen += 1) assert.ok(!(await chunks.next()).done);

      let isAnswered = false;
      const second = client.chat.completions.create({ ...tiny, max_tokens: 2 }).then((answer) => {
        isAnswered = true;
        return answer;
      });
      const waitingAt = performance.now();
      for (let seen = 0; seen < 10; seen += 1) assert.ok(!(await chunks.next()).done);
      const tokenMs = (performance.now() - waitingAt) / 10;
      assert.ok(!isAnswered, 'the second request did not wait for the only sequence');

      const abortedAt = performance.now();
      stream.controller.abort();
      assert.ok((await second).choices[0]);
      // Relative to the speed of the machine: half of the time that the rest of the first answer would take.
      const msMax = Math.max(10_000, ((tokensMax - 13) * tokenMs) / 2);
      assert.ok(performance.now() - abortedAt < msMax, 'the second request waited for the end of the first');
    });
  },
);
