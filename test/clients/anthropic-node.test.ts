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
import { encodeToolCall, encodeScript } from './engine-script.ts';

const MODEL = 'svc-plus';
/** A pause between steps, so that a stream has more than one event. */
const PAUSE = { delayMs: 30 };
const COUNT = ['One', ', two', ', three'];
const PACED_COUNT = COUNT.flatMap((piece) => [piece, PAUSE]);
const WEATHER_TOOL = {
  name: 'get_weather',
  description: 'Get the weather in a city.',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
};
const CALLS = [encodeToolCall('get_weather', { city: 'Paris' }), '\n', encodeToolCall('get_weather', { city: 'Rome' })];
/** A temperature above the range. The types of the client no longer have the field. */
const TEMPERATURE_2: object = { temperature: 2 };
const THINKING_STEPS = ['It is ', 'easy.', '\n</think>\n\n'];

const createUserMessage = (content: string): Anthropic.MessageParam => ({ role: 'user', content });
const createParams = (...steps: unknown[]) => ({
  model: MODEL,
  max_tokens: 64,
  messages: [createUserMessage(encodeScript(...steps))],
});
const joinText = ({ content }: { readonly content: readonly { readonly type: string }[] }): string =>
  content.map((block) => ('text' in block ? block.text : '')).join('');

describe('the anthropic client for Node', () => {
  let parley: Parley;
  let client: Anthropic;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    client = createClient({ apiKey: parley.key });
  });
  after(() => parley?.stop());

  const createClient = (options: ConstructorParameters<typeof Anthropic>[0]): Anthropic =>
    new Anthropic({
      baseURL: `${parley.address}/apps/anthropic`,
      authToken: null,
      maxRetries: 0,
      timeout: REQUEST_MS_MAX,
      ...options,
    });

  test('gets an answer', async () => {
    const message = await client.messages.create(createParams(...COUNT));
    assert.deepEqual(message.content, [{ type: 'text', text: 'One, two, three' }]);
    assert.deepEqual([message.type, message.role, message.model], ['message', 'assistant', MODEL]);
    assert.deepEqual([message.stop_reason, message.stop_sequence], ['end_turn', null]);
    assert.ok(message.usage.input_tokens > 0);
    assert.equal(message.usage.output_tokens, 3);
    assert.equal(message.id, `msg_${message._request_id}`);
  });

  test('may send its key in either header, with any beta name', async () => {
    const bearer = createClient({ authToken: parley.key, apiKey: null });
    assert.equal(joinText(await bearer.messages.create(createParams('Hi'))), 'Hi');
    const beta = await client.beta.messages.create({
      ...createParams('Hi'),
      betas: ['interleaved-thinking-2025-05-14', 'of-tomorrow'],
    });
    assert.equal(joinText(beta), 'Hi');
    const old = createClient({
      apiKey: null,
      defaultHeaders: { 'x-api-key': parley.key, authorization: null, 'anthropic-version': '2023-06-01' },
    });
    assert.equal(joinText(await old.messages.create(createParams('Hi'))), 'Hi');
  });

  test('gets raw events of a stream', async () => {
    const events = await Array.fromAsync(
      await client.messages.create({ ...createParams(...PACED_COUNT), stream: true }),
    );
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

  test('collects a stream, and reports each delta', async () => {
    const plain = await client.messages.create(createParams(...COUNT));
    const deltas: string[] = [];
    const blocks: unknown[] = [];
    const stream = client.messages
      .stream(createParams(...PACED_COUNT))
      .on('text', (delta, snapshot) => deltas.push(`${delta}|${snapshot}`))
      .on('contentBlock', (block) => blocks.push(block));
    const message = await stream.finalMessage();
    assert.deepEqual(deltas, ['One|One', ', two|One, two', ', three|One, two, three']);
    assert.deepEqual(blocks, [{ type: 'text', text: 'One, two, three' }]);
    assert.equal(await stream.finalText(), 'One, two, three');
    assert.deepEqual(message.content, plain.content);
    assert.equal(message.stop_reason, plain.stop_reason);
    assert.equal(message.usage.output_tokens, plain.usage.output_tokens);
    assert.ok(message.usage.input_tokens > 0);
    assert.equal(message.id, `msg_${stream.request_id}`);
  });

  test('gets the stop sequence that ended the answer, streamed or not', async () => {
    const params = { ...createParams(...PACED_COUNT), stop_sequences: ['nine', ', three'] };
    for (const message of [await client.messages.create(params), await client.messages.stream(params).finalMessage()]) {
      assert.equal(joinText(message), 'One, two');
      assert.deepEqual([message.stop_reason, message.stop_sequence], ['stop_sequence', ', three']);
    }
  });

  test('gets max_tokens as the reason that ended the answer, streamed or not', async () => {
    const params = { ...createParams(...PACED_COUNT), max_tokens: 2 };
    for (const message of [await client.messages.create(params), await client.messages.stream(params).finalMessage()]) {
      assert.equal(joinText(message), 'One, two');
      assert.equal(message.stop_reason, 'max_tokens');
      assert.equal(message.usage.output_tokens, 2);
    }
  });

  test('may prefill the answer', async () => {
    const messages = [createUserMessage(encodeScript(...COUNT)), { role: 'assistant' as const, content: 'Zero, ' }];
    const before = await client.messages.countTokens({ model: MODEL, messages: messages.slice(0, 1) });
    const message = await client.messages.create({ ...createParams(), messages });
    assert.equal(joinText(message), 'One, two, three', 'the answer continues the prefill');
    assert.ok(message.usage.input_tokens > before.input_tokens);
  });

  test('may send the system prompt in blocks with cache marks', async () => {
    const system = [
      { type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const, ttl: '1h' as const } },
      { type: 'text' as const, text: 'Be kind.' },
    ];
    const { data, response } = await client.messages
      .create({ ...createParams('Hi'), system, cache_control: { type: 'ephemeral' } })
      .withResponse();
    const { cache_creation_input_tokens: created, cache_read_input_tokens: read } = data.usage;
    assert.deepEqual([joinText(data), created, read], ['Hi', 0, 0]);
    assert.equal(response.headers.get('x-parley-ignored'), 'cache_control', 'the scripted engine has no cache');
  });

  test('gets a thought before the answer, and may send it back', async () => {
    const params = {
      ...createParams(...THINKING_STEPS, '7.'),
      thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    };
    const plain = await client.messages.create(params);
    const deltas: string[] = [];
    const stream = client.messages
      .stream(params)
      .on('thinking', (delta) => deltas.push(delta))
      .on('signature', (signature) => deltas.push(signature));
    const streamed = await stream.finalMessage();
    assert.deepEqual(streamed.content, plain.content);
    const [thought, answer] = plain.content;
    assert.ok(thought?.type === 'thinking' && answer?.type === 'text');
    assert.deepEqual([thought.thinking.trim(), answer.text.trim()], ['It is easy.', '7.']);
    assert.ok(thought.signature);
    assert.equal(deltas.join(''), thought.thinking + thought.signature);
    for (const content of [plain.content, [{ ...thought, signature: 'of another service' }, answer]]) {
      const messages: Anthropic.MessageParam[] = [
        createUserMessage('3 + 4?'),
        { role: 'assistant', content },
        createUserMessage(encodeScript('Yes.')),
      ];
      const { data, response } = await client.messages
        .create({ ...params, messages, thinking: { type: 'adaptive' } })
        .withResponse();
      assert.ok(data.content.length > 0);
      assert.equal(response.headers.get('x-parley-ignored'), null);
    }
  });

  test('gets several tool calls with inputs in pieces, and sends their results', async () => {
    const params = { ...createParams(...CALLS), tools: [WEATHER_TOOL] };
    const plain = await client.messages.create(params);
    const pieces: string[] = [];
    const streamed = await client.messages
      .stream(params)
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
      ...params.messages,
      { role: 'assistant', content: plain.content },
      { role: 'user', content: [...results, { type: 'text', text: encodeScript('Sunny in both.') }] },
    ];
    const last = await client.messages.create({ ...params, messages });
    assert.deepEqual([joinText(last), last.stop_reason], ['Sunny in both.', 'end_turn']);
  });

  test('gets one tool call when parallel calls are disabled', async () => {
    const { content } = await client.messages.create({
      ...createParams(...CALLS),
      tools: [WEATHER_TOOL],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    });
    assert.equal(content.filter(({ type }) => type === 'tool_use').length, 1);
  });

  for (const stream of [false, true]) {
    test(`runs a tool loop with the tool runner${stream ? ', streaming' : ''}`, async () => {
      const cities: string[] = [];
      const weather = betaZodTool({
        name: 'get_weather',
        description: 'Get the weather in a city.',
        inputSchema: z.object({ city: z.string() }),
        // The result of the tool is the script of the model's next answer.
        run: ({ city }) => {
          cities.push(city);
          const next = cities.length === 1 ? encodeToolCall('get_weather', { city: 'Rome' }) : 'Sunny in both.';
          return `\n${encodeScript(next)}\n`;
        },
      });
      const params = {
        ...createParams(encodeToolCall('get_weather', { city: 'Paris' })),
        tools: [weather],
        max_iterations: 5,
      };
      const message = stream
        ? await client.beta.messages.toolRunner({ ...params, stream: true })
        : await client.beta.messages.toolRunner(params);
      assert.deepEqual(cities, ['Paris', 'Rome']);
      assert.deepEqual([joinText(message), message.stop_reason], ['Sunny in both.', 'end_turn']);
    });
  }

  test('gets an error for threads, and continues without them on request', async () => {
    const messages = [createUserMessage(encodeScript('Hi'))];
    const thread = client.beta.messages.thread({ model: MODEL, max_tokens: 64, messages });
    await assert.rejects(thread.send(), BadRequestError);
    const unsupportedRequestBehavior = 'continue_unthreaded';
    const unthreaded = client.beta.messages.thread({
      model: MODEL,
      max_tokens: 64,
      messages,
      unsupportedRequestBehavior,
    });
    assert.equal(joinText(await unthreaded.send()), 'Hi');
    assert.equal(joinText(await unthreaded.send(createUserMessage(encodeScript('Hi again')))), 'Hi again');
  });

  test('counts the same input tokens as an answer reports', async () => {
    const { messages, model } = createParams('Hi');
    const params = {
      model,
      messages,
      system: 'Be brief.',
      tools: [WEATHER_TOOL],
      thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    };
    const { usage } = await client.messages.create({ ...params, max_tokens: 2048 });
    assert.deepEqual(await client.messages.countTokens(params), { input_tokens: usage.input_tokens });
    const beta = await client.beta.messages.countTokens(params);
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

  type ErrorClass = new (...args: never[]) => APIError;
  const assertRejected = async (
    call: () => Promise<unknown>,
    errorClass: ErrorClass,
    type: string,
    text: RegExp,
  ): Promise<void> => {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof errorClass && error instanceof APIError, String(error));
      assert.equal(error.type, type);
      assert.match(error.message, text);
      assert.ok(error.requestID);
      return true;
    });
  };
  /** Asserts the same error for a whole answer, a raw stream and a collected stream. */
  const assertRejectedInAllWays = async (
    params: Anthropic.MessageCreateParamsNonStreaming,
    errorClass: ErrorClass,
    type: string,
    text: RegExp,
  ) => {
    await assertRejected(() => client.messages.create(params), errorClass, type, text);
    await assertRejected(() => client.messages.create({ ...params, stream: true }), errorClass, type, text);
    await assertRejected(() => client.messages.stream(params).finalMessage(), errorClass, type, text);
  };

  test('raises AuthenticationError for a wrong key', () =>
    assertRejected(
      () => createClient({ apiKey: 'sk-unknown-key' }).messages.create(createParams('Hi')),
      AuthenticationError,
      'authentication_error',
      /./,
    ));

  test('raises NotFoundError for an unknown model', () =>
    assertRejectedInAllWays(
      { ...createParams('Hi'), model: 'no-such-model' },
      NotFoundError,
      'not_found_error',
      /no-such-model/,
    ));

  test('raises BadRequestError for a temperature of 2, and names it', () =>
    assertRejectedInAllWays(
      { ...createParams('Hi'), ...TEMPERATURE_2 },
      BadRequestError,
      'invalid_request_error',
      /temperature/,
    ));

  test('raises BadRequestError for an image and a text model', () => {
    const image = {
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'aGk=' },
    };
    return assertRejectedInAllWays(
      { ...createParams(), messages: [{ role: 'user', content: [image] }] },
      BadRequestError,
      'invalid_request_error',
      /text only/,
    );
  });

  test('raises BadRequestError with both token counts for a prompt that is too long', () =>
    assertRejectedInAllWays(
      { ...createParams(), messages: [createUserMessage('long '.repeat(4000))] },
      BadRequestError,
      'invalid_request_error',
      /prompt is too long: \d+ tokens > \d+ maximum/,
    ));

  test('raises an error with status 413 for a body above the limit', async () => {
    const params = { ...createParams(), messages: [createUserMessage('x'.repeat(21_000_000))] };
    await assert.rejects(client.messages.create(params), (error) => {
      assert.ok(error instanceof APIError, String(error));
      assert.deepEqual([error.status, error.type], [413, 'request_too_large']);
      return true;
    });
  });

  test('raises failures before the first event with their status', async () => {
    await assertRejectedInAllWays(createParams({ fail: 'engine-failed' }), InternalServerError, 'api_error', /./);
    await assertRejectedInAllWays(createParams({ fail: 'rate-limited' }), RateLimitError, 'rate_limit_error', /./);
  });

  test('raises a failure in mid-stream', async () => {
    const stream = client.messages.stream(createParams('One', PAUSE, { fail: 'overloaded' }));
    const deltas: string[] = [];
    stream.on('text', (delta) => deltas.push(delta));
    await assert.rejects(stream.finalMessage(), (error) => {
      assert.ok(error instanceof APIError, String(error));
      assert.equal(error.type, 'overloaded_error');
      return true;
    });
    assert.deepEqual(deltas, ['One']);
  });

  test('retries an overloaded service up to maxRetries times', async () => {
    let calls = 0;
    const retryingClient = createClient({
      apiKey: parley.key,
      maxRetries: 1,
      fetch: (...args) => {
        calls += 1;
        return fetch(...args);
      },
    });
    await assertRejected(
      () => retryingClient.messages.create(createParams({ fail: 'overloaded' })),
      InternalServerError,
      'overloaded_error',
      /./,
    );
    assert.equal(calls, 2);
    await assert.rejects(retryingClient.messages.create({ ...createParams('Hi'), ...TEMPERATURE_2 }), BadRequestError);
    assert.equal(calls, 3, 'a 400 error is not retried');
  });

  test('frees the engine when it aborts a stream', async () => {
    const stream = client.messages.stream(createParams('One', { hang: true }));
    await stream.emitted('text');
    stream.abort();
    await assert.rejects(stream.finalMessage(), Anthropic.APIUserAbortError);
    assert.equal(joinText(await client.messages.create(createParams('Hi'))), 'Hi');
  });
});
