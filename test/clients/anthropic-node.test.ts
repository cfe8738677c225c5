import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { z } from 'zod';
import { type Parley, REQUEST_MS_MAX, startParley } from './harness.ts';
import { callOf, says } from './script.ts';

const MODEL = 'svc-plus';
/** A pause, so that a stream has more than one event. */
const PAUSE = { delayMs: 30 };
const COUNTED = ['One', ', two', ', three'];
const SLOWLY = COUNTED.flatMap((piece) => [piece, PAUSE]);
const WEATHER = {
  name: 'get_weather',
  description: 'Get the weather in a city.',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};
const CALLS = [callOf('get_weather', { city: 'Paris' }), '\n', callOf('get_weather', { city: 'Rome' })];
/** A field that the client's types have no more. */
const HOT: object = { temperature: 2 };
const THOUGHT = ['It is ', 'easy.', '\n</think>\n\n'];

const user = (content: string): Anthropic.MessageParam => ({ role: 'user', content });
const ask = (...steps: unknown[]) => ({ model: MODEL, max_tokens: 64, messages: [user(says(...steps))] });
const textOf = ({ content }: { readonly content: readonly { readonly type: string }[] }): string =>
  content.map((block) => ('text' in block ? block.text : '')).join('');

describe('the anthropic client for Node', () => {
  let parley: Parley;
  let client: Anthropic;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    client = clientOf({ apiKey: parley.key });
  });
  after(() => parley?.stop());

  const clientOf = (options: ConstructorParameters<typeof Anthropic>[0]): Anthropic =>
    new Anthropic({
      baseURL: `${parley.address}/apps/anthropic`,
      authToken: null,
      maxRetries: 0,
      timeout: REQUEST_MS_MAX,
      ...options,
    });

  test('gets an answer', async () => {
    const message = await client.messages.create(ask(...COUNTED));
    assert.deepEqual(message.content, [{ type: 'text', text: 'One, two, three' }]);
    assert.deepEqual([message.type, message.role, message.model], ['message', 'assistant', MODEL]);
    assert.deepEqual([message.stop_reason, message.stop_sequence], ['end_turn', null]);
    assert.ok(message.usage.input_tokens > 0);
    assert.equal(message.usage.output_tokens, 3);
    assert.equal(message.id, `msg_${message._request_id}`);
  });

  test('may send its key in either header, with any beta', async () => {
    const bearer = clientOf({ authToken: parley.key, apiKey: null });
    assert.equal(textOf(await bearer.messages.create(ask('Hi'))), 'Hi');
    const beta = await client.beta.messages.create({
      ...ask('Hi'),
      betas: ['interleaved-thinking-2025-05-14', 'of-tomorrow'],
    });
    assert.equal(textOf(beta), 'Hi');
    const old = clientOf({
      apiKey: null,
      defaultHeaders: { 'x-api-key': parley.key, authorization: null, 'anthropic-version': '2023-06-01' },
    });
    assert.equal(textOf(await old.messages.create(ask('Hi'))), 'Hi');
  });

  test('gets raw events of a stream', async () => {
    const events = await Array.fromAsync(await client.messages.create({ ...ask(...SLOWLY), stream: true }));
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        'message_start',
        'content_block_start',
        ...Array<string>(3).fill('content_block_delta'),
        'content_block_stop',
        'message_delta',
        'message_stop',
      ],
    );
  });

  test('puts a stream together, and hears of it as it comes', async () => {
    const plain = await client.messages.create(ask(...COUNTED));
    const heard: string[] = [];
    const blocks: unknown[] = [];
    const stream = client.messages
      .stream(ask(...SLOWLY))
      .on('text', (delta, snapshot) => heard.push(`${delta}|${snapshot}`))
      .on('contentBlock', (block) => blocks.push(block));
    const message = await stream.finalMessage();
    assert.deepEqual(heard, ['One|One', ', two|One, two', ', three|One, two, three']);
    assert.deepEqual(blocks, [{ type: 'text', text: 'One, two, three' }]);
    assert.equal(await stream.finalText(), 'One, two, three');
    assert.deepEqual(message.content, plain.content);
    assert.equal(message.stop_reason, plain.stop_reason);
    assert.equal(message.usage.output_tokens, plain.usage.output_tokens);
    assert.ok(message.usage.input_tokens > 0);
    assert.equal(message.id, `msg_${stream.request_id}`);
  });

  test('sees a stop sequence that was hit, streamed or not', async () => {
    const asked = { ...ask(...SLOWLY), stop_sequences: ['nine', ', three'] };
    for (const message of [await client.messages.create(asked), await client.messages.stream(asked).finalMessage()]) {
      assert.equal(textOf(message), 'One, two');
      assert.deepEqual([message.stop_reason, message.stop_sequence], ['stop_sequence', ', three']);
    }
  });

  test('sees that max_tokens cut the answer, streamed or not', async () => {
    const asked = { ...ask(...SLOWLY), max_tokens: 2 };
    for (const message of [await client.messages.create(asked), await client.messages.stream(asked).finalMessage()]) {
      assert.equal(textOf(message), 'One, two');
      assert.equal(message.stop_reason, 'max_tokens');
      assert.equal(message.usage.output_tokens, 2);
    }
  });

  test('may begin the answer itself', async () => {
    const messages = [user(says(...COUNTED)), { role: 'assistant' as const, content: 'Zero, ' }];
    const before = await client.messages.countTokens({ model: MODEL, messages: messages.slice(0, 1) });
    const message = await client.messages.create({ ...ask(), messages });
    assert.equal(textOf(message), 'One, two, three', 'the answer goes on');
    assert.ok(message.usage.input_tokens > before.input_tokens);
  });

  test('may say the system prompt in blocks, with marks for the cache', async () => {
    const system = [
      { type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const, ttl: '1h' as const } },
      { type: 'text' as const, text: 'Be kind.' },
    ];
    const { data, response } = await client.messages
      .create({ ...ask('Hi'), system, cache_control: { type: 'ephemeral' } })
      .withResponse();
    const { cache_creation_input_tokens: created, cache_read_input_tokens: read } = data.usage;
    assert.deepEqual([textOf(data), created, read], ['Hi', 0, 0]);
    assert.equal(response.headers.get('x-parley-ignored'), 'cache_control', 'the scripted engine has no cache');
  });

  test('gets a thought before the answer, and may send it back', async () => {
    const asked = {
      ...ask(...THOUGHT, '7.'),
      thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    };
    const plain = await client.messages.create(asked);
    const heard: string[] = [];
    const stream = client.messages
      .stream(asked)
      .on('thinking', (delta) => heard.push(delta))
      .on('signature', (signature) => heard.push(signature));
    const streamed = await stream.finalMessage();
    assert.deepEqual(streamed.content, plain.content);
    const [thought, answer] = plain.content;
    assert.ok(thought?.type === 'thinking' && answer?.type === 'text');
    assert.deepEqual([thought.thinking.trim(), answer.text.trim()], ['It is easy.', '7.']);
    assert.ok(thought.signature);
    assert.equal(heard.join(''), thought.thinking + thought.signature);
    for (const content of [plain.content, [{ ...thought, signature: 'of another service' }, answer]]) {
      const messages: Anthropic.MessageParam[] = [user('3 + 4?'), { role: 'assistant', content }, user(says('Yes.'))];
      const { data, response } = await client.messages
        .create({ ...asked, messages, thinking: { type: 'adaptive' } })
        .withResponse();
      assert.ok(data.content.length > 0);
      assert.equal(response.headers.get('x-parley-ignored'), null);
    }
  });

  test('gets several calls, with inputs in pieces, and tells their results', async () => {
    const asked = { ...ask(...CALLS), tools: [WEATHER] };
    const plain = await client.messages.create(asked);
    const pieces: string[] = [];
    const streamed = await client.messages
      .stream(asked)
      .on('inputJson', (piece) => pieces.push(piece))
      .finalMessage();
    for (const { content, stop_reason: reason } of [plain, streamed]) {
      const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
      assert.deepEqual(
        calls.map(({ name, input }) => [name, input]),
        [
          ['get_weather', { city: 'Paris' }],
          ['get_weather', { city: 'Rome' }],
        ],
      );
      assert.equal(new Set(calls.map(({ id }) => id)).size, 2);
      assert.equal(reason, 'tool_use');
    }
    assert.equal(pieces.join('').replaceAll(/\s/g, ''), '{"city":"Paris"}{"city":"Rome"}');

    const results = plain.content.flatMap((block) =>
      block.type === 'tool_use'
        ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'sunny', is_error: false }]
        : [],
    );
    const messages: Anthropic.MessageParam[] = [
      ...asked.messages,
      { role: 'assistant', content: plain.content },
      { role: 'user', content: [...results, { type: 'text', text: says('Sunny in both.') }] },
    ];
    const last = await client.messages.create({ ...asked, messages });
    assert.deepEqual([textOf(last), last.stop_reason], ['Sunny in both.', 'end_turn']);
  });

  test('gets one call where others are forbidden', async () => {
    const { content } = await client.messages.create({
      ...ask(...CALLS),
      tools: [WEATHER],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    });
    assert.equal(content.filter(({ type }) => type === 'tool_use').length, 1);
  });

  for (const stream of [false, true]) {
    test(`runs a loop of tools by itself${stream ? ', streaming' : ''}`, async () => {
      const cities: string[] = [];
      const weather = betaZodTool({
        name: 'get_weather',
        description: 'Get the weather in a city.',
        inputSchema: z.object({ city: z.string() }),
        // The tool's answer is the script of the model's.
        run: ({ city }) => {
          cities.push(city);
          return `\n${says(cities.length === 1 ? callOf('get_weather', { city: 'Rome' }) : 'Sunny in both.')}\n`;
        },
      });
      const asked = { ...ask(callOf('get_weather', { city: 'Paris' })), tools: [weather], max_iterations: 5 };
      const message = stream
        ? await client.beta.messages.toolRunner({ ...asked, stream: true })
        : await client.beta.messages.toolRunner(asked);
      assert.deepEqual(cities, ['Paris', 'Rome']);
      assert.deepEqual([textOf(message), message.stop_reason], ['Sunny in both.', 'end_turn']);
    });
  }

  test('is told that there are no threads, and how to do without', async () => {
    const messages = [user(says('Hi'))];
    const thread = client.beta.messages.thread({ model: MODEL, max_tokens: 64, messages });
    await assert.rejects(thread.send(), BadRequestError);
    const unsupportedRequestBehavior = 'continue_unthreaded';
    const patient = client.beta.messages.thread({ model: MODEL, max_tokens: 64, messages, unsupportedRequestBehavior });
    assert.equal(textOf(await patient.send()), 'Hi');
    assert.equal(textOf(await patient.send(user(says('Hi again')))), 'Hi again');
  });

  test('counts tokens as an answer does', async () => {
    const { messages, model } = ask('Hi');
    const asked = {
      model,
      messages,
      system: 'Be brief.',
      tools: [WEATHER],
      thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    };
    const { usage } = await client.messages.create({ ...asked, max_tokens: 2048 });
    assert.deepEqual(await client.messages.countTokens(asked), { input_tokens: usage.input_tokens });
    const beta = await client.beta.messages.countTokens(asked);
    assert.equal(beta.input_tokens, usage.input_tokens);
  });

  test('lists the models, page by page, and gets one', async () => {
    const ids = (await Array.fromAsync(client.models.list({ limit: 2 }))).map(({ id }) => id);
    assert.ok(ids.includes(MODEL) && ids.length === new Set(ids).size, ids.join());
    const model = await client.models.retrieve(MODEL);
    assert.deepEqual([model.type, model.id, model.display_name], ['model', MODEL, MODEL]);
    assert.ok(Date.parse(model.created_at) > 0);
    await assert.rejects(client.models.retrieve('no-such-model'), NotFoundError);
  });

  type Kind = new (...args: never[]) => APIError;
  const refused = async (call: () => Promise<unknown>, kind: Kind, type: string, text: RegExp): Promise<void> => {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof kind && error instanceof APIError, String(error));
      assert.equal(error.type, type);
      assert.match(error.message, text);
      assert.ok(error.requestID);
      return true;
    });
  };
  /** As a whole answer, as a stream, and collected. */
  const refusedInAllWays = async (
    asked: Anthropic.MessageCreateParamsNonStreaming,
    kind: Kind,
    type: string,
    text: RegExp,
  ) => {
    await refused(() => client.messages.create(asked), kind, type, text);
    await refused(() => client.messages.create({ ...asked, stream: true }), kind, type, text);
    await refused(() => client.messages.stream(asked).finalMessage(), kind, type, text);
  };

  test('with a wrong key raises AuthenticationError', () =>
    refused(
      () => clientOf({ apiKey: 'sk-of-somebody-else' }).messages.create(ask('Hi')),
      AuthenticationError,
      'authentication_error',
      /./,
    ));

  test('with an unknown model raises NotFoundError', () =>
    refusedInAllWays({ ...ask('Hi'), model: 'no-such-model' }, NotFoundError, 'not_found_error', /no-such-model/));

  test('with a temperature of 2 raises BadRequestError, which names it', () =>
    refusedInAllWays({ ...ask('Hi'), ...HOT }, BadRequestError, 'invalid_request_error', /temperature/));

  test('with an image raises BadRequestError, from a model for text', () => {
    const image = {
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'aGk=' },
    };
    return refusedInAllWays(
      { ...ask(), messages: [{ role: 'user', content: [image] }] },
      BadRequestError,
      'invalid_request_error',
      /text only/,
    );
  });

  test('with a prompt that is too long raises BadRequestError, which counts', () =>
    refusedInAllWays(
      { ...ask(), messages: [user('long '.repeat(4000))] },
      BadRequestError,
      'invalid_request_error',
      /prompt is too long: \d+ tokens > \d+ maximum/,
    ));

  test('with a body that is too large raises an error of status 413', async () => {
    const asked = { ...ask(), messages: [user('x'.repeat(21_000_000))] };
    await assert.rejects(client.messages.create(asked), (error) => {
      assert.ok(error instanceof APIError, String(error));
      assert.deepEqual([error.status, error.type], [413, 'request_too_large']);
      return true;
    });
  });

  test('sees failures before the answer with their status', async () => {
    await refusedInAllWays(ask({ fail: 'engine-failed' }), InternalServerError, 'api_error', /./);
    await refusedInAllWays(ask({ fail: 'rate-limited' }), RateLimitError, 'rate_limit_error', /./);
  });

  test('raises a failure in mid-stream', async () => {
    const stream = client.messages.stream(ask('One', PAUSE, { fail: 'overloaded' }));
    const heard: string[] = [];
    stream.on('text', (delta) => heard.push(delta));
    await assert.rejects(stream.finalMessage(), (error) => {
      assert.ok(error instanceof APIError, String(error));
      assert.equal(error.type, 'overloaded_error');
      return true;
    });
    assert.deepEqual(heard, ['One']);
  });

  test('tries an overloaded service again, as often as it was told to', async () => {
    let calls = 0;
    const patient = clientOf({
      apiKey: parley.key,
      maxRetries: 1,
      fetch: (...args) => {
        calls += 1;
        return fetch(...args);
      },
    });
    await refused(
      () => patient.messages.create(ask({ fail: 'overloaded' })),
      InternalServerError,
      'overloaded_error',
      /./,
    );
    assert.equal(calls, 2);
    await assert.rejects(patient.messages.create({ ...ask('Hi'), ...HOT }), BadRequestError);
    assert.equal(calls, 3, 'what is refused for good is not tried again');
  });

  test('frees the engine by an abort in mid-stream', async () => {
    const stream = client.messages.stream(ask('One', { hang: true }));
    await stream.emitted('text');
    stream.abort();
    await assert.rejects(stream.finalMessage(), Anthropic.APIUserAbortError);
    assert.equal(textOf(await client.messages.create(ask('Hi'))), 'Hi');
  });
});
