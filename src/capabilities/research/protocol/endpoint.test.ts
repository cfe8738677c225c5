import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { MESSAGES_MAX } from '../../../protocols/limits.ts';
import type { RegionId } from '../../../core/region.ts';
import type { ResearchEvent, ResearchRequest } from '../research.ts';
import { systemClock } from '../../../lib/clock.ts';
import { createSseParser } from '../../../lib/sse.ts';
import { readStream } from '../../../protocols/fields/__fixtures__/fake-translation.ts';
import { TEST_ENTRY } from '../../../protocols/native/generation/__fixtures__/golden-cases.ts';
import { createResearchGenerationHandler } from './endpoint.ts';
import {
  createMultimodalGenerationEndpoint,
  createTextGenerationEndpoint,
} from '../../../protocols/native/generation/endpoint.ts';
import { findPhaseFaults } from './__fixtures__/find-phase-faults.ts';
import { readGoldenCases } from './__fixtures__/golden-cases.ts';

const RESEARCH_ENTRY: ModelEntry = { ...TEST_ENTRY, name: 'svc-deep-research', interfaces: ['native', 'research'] };

const readGoldenEvents = (name: string): readonly ResearchEvent[] =>
  readGoldenCases().find((each) => each.name === name)?.events ?? [];

const SSE = { 'x-dashscope-sse': 'enable' };

const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });

const FIRST_STEP = [user('Lighthouses')];
const SECOND_STEP = [...FIRST_STEP, assistant('Which ones?'), user('That of Brenwick')];

const body = (messages: unknown, fields: object = {}) => ({
  model: 'qwen-deep-research',
  input: { messages },
  ...fields,
});

interface TestOptions {
  readonly region?: RegionId;
  readonly strict?: boolean;
  readonly streamPlan?: boolean;
  readonly entry?: ModelEntry;
  readonly refusal?: ServiceError;
}

function createTestResearch({
  region = 'cn-beijing',
  strict = false,
  streamPlan = false,
  entry = RESEARCH_ENTRY,
  refusal,
}: TestOptions = {}) {
  const clarified: ResearchRequest[] = [];
  const opened: { readonly request: ResearchRequest; readonly fingerprint: string }[] = [];
  const observed: { context?: RequestContext; isStreamClosed?: boolean; logFields?: object } = {};
  const context: RequestContext = {
    requestId: 'rid',
    owner: { workspace: 'w', region, keyId: 'k' },
    signal: new AbortController().signal,
    log: { add: (fields) => Object.assign((observed.logFields ??= {}), fields), warn: () => undefined },
  };
  async function* yieldGoldenEvents(name: string): AsyncGenerator<readonly ResearchEvent[]> {
    try {
      for (const event of readGoldenEvents(name)) yield [event];
    } finally {
      observed.isStreamClosed = true;
    }
  }
  const deps = {
    generate: () => Promise.reject(new Error('unexpected chat')),
    translate: () => Promise.reject(new Error('unexpected translation')),
    handlers: {
      research: createResearchGenerationHandler({
        streamPlan,
        research: {
          clarify(request: ResearchRequest, callContext: RequestContext) {
            clarified.push(request);
            observed.context = callContext;
            return refusal ? Promise.reject(refusal) : Promise.resolve(yieldGoldenEvents('question'));
          },
        },
        runs: {
          open(run: { readonly request: ResearchRequest; readonly fingerprint: string }, callContext: RequestContext) {
            opened.push(run);
            observed.context = callContext;
            return refusal ? Promise.reject(refusal) : Promise.resolve(yieldGoldenEvents('report'));
          },
        },
      }),
    },
    catalogue: () => ({ resolve: async (requestedName: string) => ({ requestedName, entry }) }),
    clock: systemClock,
    strict,
  };
  const post = (sent: unknown, headers: Record<string, string> = SSE, createEndpoint = createTextGenerationEndpoint) =>
    createEndpoint(deps).handle({ body: sent, params: {}, query: new URLSearchParams(), headers }, context);
  const postAndRead = async (...args: Parameters<typeof post>): Promise<void> =>
    void (await readStream(await post(...args)));
  return { post, postAndRead, clarified, opened, observed, context };
}

const parseFrames = (bytes: string) => createSseParser({ sizeMax: 1_000_000 }).push(bytes);

test("answers a first message with a question, in the caller's context", async () => {
  const { post, clarified, opened, observed, context } = createTestResearch();
  const reply = await post(body(FIRST_STEP));
  assert.deepEqual(findPhaseFaults(parseFrames(await readStream(reply)), { step: 1 }), []);
  assert.deepEqual(clarified, [
    {
      model: 'qwen-deep-research',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Lighthouses' }] }],
      reportSize: 'detailed',
    },
  ]);
  assert.deepEqual(opened, []);
  assert.equal(observed.context, context);
  assert.equal(reply.headers?.['x-parley-ignored'], undefined);
  assert.deepEqual(observed.logFields, { requestedModel: 'qwen-deep-research', researchStep: 1 });
});

test('opens a run for a conversation of three or more messages', async () => {
  for (const messages of [SECOND_STEP, [...SECOND_STEP, assistant('And?'), user('All of it')]]) {
    const { post, clarified, opened, observed, context } = createTestResearch();
    const reply = await post(body(messages));
    assert.deepEqual(findPhaseFaults(parseFrames(await readStream(reply)), { step: 2 }), []);
    assert.deepEqual(clarified, []);
    assert.equal(opened[0]?.request.messages.length, messages.length);
    assert.equal(observed.context, context);
    assert.deepEqual(observed.logFields, { requestedModel: 'qwen-deep-research', researchStep: 2 });
  }
});

test('streams the plan if the service is configured so', async () => {
  const { post } = createTestResearch({ streamPlan: true });
  const frames = parseFrames(await readStream(await post(body(SECOND_STEP))));
  assert.deepEqual(findPhaseFaults(frames, { step: 2, streamPlan: true }), []);
  assert.match(frames[0]?.data ?? '', /First who lit the harbour/);
});

test('accepts the report size at the top level or in the parameters', async () => {
  const summary = 'model_summary_report';
  for (const [fields, size] of [
    [{}, 'detailed'],
    [{ output_format: null, parameters: null }, 'detailed'],
    [{ output_format: 'model_detailed_report' }, 'detailed'],
    [{ output_format: summary }, 'summary'],
    [{ parameters: { output_format: summary } }, 'summary'],
    [{ output_format: summary, parameters: { output_format: summary } }, 'summary'],
  ] as const) {
    const { postAndRead, opened } = createTestResearch();
    await postAndRead(body(SECOND_STEP, fields));
    assert.equal(opened[0]?.request.reportSize, size);
  }
});

test('accepts lists of texts as content, and a prompt as the last message', async () => {
  const { postAndRead, opened, clarified } = createTestResearch();
  await postAndRead(
    body([...SECOND_STEP.slice(0, 2), user([{ text: 'That of ' }, { type: 'text', text: 'Brenwick' }])]),
  );
  await postAndRead(body(SECOND_STEP));
  await postAndRead({
    model: 'qwen-deep-research',
    input: { messages: SECOND_STEP.slice(0, 2), prompt: 'That of Brenwick' },
  });
  assert.deepEqual(opened[1], opened[0]);
  assert.deepEqual(opened[2], opened[0]);
  await postAndRead({ model: 'qwen-deep-research', input: { prompt: 'Lighthouses' } });
  assert.equal(clarified.length, 1);
});

test('replaces half of a surrogate pair', async () => {
  const { postAndRead, clarified } = createTestResearch();
  await postAndRead(body([user('a\ud800')]));
  assert.deepEqual(clarified[0]?.messages[0]?.content, [{ type: 'text', text: 'a\ufffd' }]);
});

test('computes equal fingerprints for requests that differ only in irrelevant fields', async () => {
  const { postAndRead, opened } = createTestResearch();
  await postAndRead(body(SECOND_STEP));
  await postAndRead(body(SECOND_STEP, { user: 'me', parameters: { temperature: 1, incremental_output: true } }));
  await postAndRead(body(SECOND_STEP, { output_format: 'model_detailed_report' }), { 'x-svc-sse': 'enable' });
  await postAndRead({ ...body(SECOND_STEP), model: 'svc-deep-research' });
  await postAndRead(body(SECOND_STEP, { output_format: 'model_summary_report' }));
  await postAndRead(body([...FIRST_STEP, assistant('Which ones?'), user('Those of Brenwick')]));
  // The same characters, divided differently.
  await postAndRead(body([user('LighthousesWhich'), assistant(' ones?'), user('That of Brenwick')]));
  const [first, second, third, ...others] = opened.map(({ fingerprint }) => fingerprint);
  assert.match(first ?? '', /^[0-9a-f]{64}$/);
  assert.equal(second, first);
  assert.equal(third, first);
  assert.equal(new Set([first, ...others]).size, 5);
});

test('names fields without effect, unless they request nothing', async () => {
  const { post } = createTestResearch();
  const withEffect = { temperature: 1, seed: 3, enable_search: true, n: 2, max_tokens: 9, incremental_output: false };
  const tools = [{ type: 'function', function: { name: 'f' } }];
  const reply = await post(
    body([user([{ text: 'Lighthouses', cache_control: { type: 'ephemeral' } }])], {
      stream: true,
      parameters: { ...withEffect, tools, result_format: 'text', what: 1 },
    }),
  );
  assert.deepEqual(reply.headers, {
    'x-parley-ignored': [
      'input.messages.cache_control',
      'parameters.n',
      'parameters.max_tokens',
      'parameters.temperature',
      'parameters.seed',
      'parameters.tools',
      'parameters.enable_search',
      'parameters.result_format',
      'parameters.incremental_output',
      'stream',
      'parameters.what',
    ].join(),
  });
  const withoutEffect = {
    n: 1,
    tools: [],
    enable_search: false,
    enable_thinking: false,
    tool_choice: 'none',
    stop: null,
  };
  const parameters = { ...withoutEffect, result_format: 'message', incremental_output: true };
  assert.equal((await post(body(FIRST_STEP, { parameters }))).headers?.['x-parley-ignored'], undefined);
  const turns = [...FIRST_STEP, { ...assistant('Which?'), reasoning_content: 'Hm.', name: 'a' }, user('All')];
  assert.deepEqual((await post(body(turns))).headers, {
    'x-parley-ignored': 'input.messages.name,input.messages.reasoning_content',
  });
});

test('rejects unknown fields in strict mode', async () => {
  const { post } = createTestResearch({ strict: true });
  await post(body(FIRST_STEP, { output_format: 'model_summary_report' }));
  await assert.rejects(post(body(FIRST_STEP, { stream: true })), { kind: 'invalid-request', param: 'stream' });
});

const TURNS =
  'A deep research model accepts one user message, or alternating user and assistant messages that start and end with a user message';

const REJECTED: readonly (readonly [what: string, sent: unknown, message: string | RegExp, param: string])[] = [
  ['no input', { model: 'm' }, /^Either "prompt" or "messages" must exist/, 'input'],
  ['messages beside the input', { model: 'm', messages: FIRST_STEP }, /^Either "prompt" or "messages"/, 'input'],
  ['no messages', body([]), "[] is too short - 'messages' (input.messages: an array of 0)", 'input.messages'],
  ['too many messages', body(Array(MESSAGES_MAX + 1).fill(user('a'))), /must be an array of 1 to /, 'input.messages'],
  [
    'a system message',
    body([{ role: 'system', content: 'Be brief.' }, ...FIRST_STEP]),
    'A deep research model accepts only messages with the role user or assistant (input.messages[0].role: "system")',
    'input.messages[0].role',
  ],
  [
    'an unknown role',
    body([{ role: 'bot', content: 'a' }]),
    /^Role must be user or assistant/,
    'input.messages[0].role',
  ],
  [
    'two user messages',
    body([...FIRST_STEP, ...FIRST_STEP]),
    `${TURNS} (input.messages[1].role: "user")`,
    'input.messages[1].role',
  ],
  [
    'an assistant message at the start',
    body([assistant('a')]),
    `${TURNS} (input.messages[0].role: "assistant")`,
    'input.messages[0].role',
  ],
  [
    'an assistant message at the end',
    body(SECOND_STEP.slice(0, 2)),
    `${TURNS}; the last message has the role assistant (input.messages)`,
    'input.messages',
  ],
  [
    'an empty message',
    body([user('')]),
    'Role must be user or assistant and Content length must be greater than 0 (input.messages[0].content)',
    'input.messages[0].content',
  ],
  ['invisible characters', body([user('\u0000\u200b\ufeff')]), /must be greater than 0/, 'input.messages[0].content'],
  ['spaces', body([...FIRST_STEP, assistant(' \n'), user('a')]), /must be greater than 0/, 'input.messages[1].content'],
  [
    'an empty list',
    body([user([])]),
    'The content field is a required field. (input.messages[0].content)',
    'input.messages[0].content',
  ],
  [
    'an image',
    body([user([{ image: 'https://example.com/a.png' }])]),
    /^input content must be a string\./,
    'input.messages[0].content[0]',
  ],
  ['a number', body([user(7)]), /^input content must be a string\./, 'input.messages[0].content'],
  [
    'an unknown size',
    body(FIRST_STEP, { output_format: 'model_book' }),
    'output_format must be one of "model_detailed_report", "model_summary_report", got "model_book".',
    'output_format',
  ],
  [
    'an unknown size in the parameters',
    body(FIRST_STEP, { parameters: { output_format: 1 } }),
    'parameters.output_format must be one of "model_detailed_report", "model_summary_report", got 1.',
    'parameters.output_format',
  ],
  [
    'two different sizes',
    body(FIRST_STEP, { output_format: 'model_summary_report', parameters: { output_format: 'model_detailed_report' } }),
    'must equal the top-level output_format, which is "model_summary_report" (parameters.output_format: "model_detailed_report")',
    'parameters.output_format',
  ],
  [
    'a temperature of 3',
    body(FIRST_STEP, { parameters: { temperature: 3 } }),
    /^Temperature should be in/,
    'parameters.temperature',
  ],
];

for (const [what, sent, message, param] of REJECTED) {
  test(`refuses ${what}`, async () => {
    const { post, clarified, opened } = createTestResearch();
    await assert.rejects(post(sent), { kind: 'invalid-request', message, param });
    assert.deepEqual([clarified, opened], [[], []]);
  });
}

test('rejects a request without streaming', async () => {
  for (const messages of [FIRST_STEP, SECOND_STEP, 'none']) {
    const { post, clarified, opened } = createTestResearch();
    await assert.rejects(post(body(messages), {}), {
      kind: 'invalid-request',
      message:
        'This model only support stream mode, please enable the stream parameter to access the model. (X-Svc-SSE)',
    });
    assert.deepEqual([clarified, opened], [[], []]);
  }
  await createTestResearch().post(body(FIRST_STEP), { accept: 'text/event-stream' });
});

test('rejects an asynchronous task', async () => {
  await assert.rejects(createTestResearch().post(body(FIRST_STEP), { ...SSE, 'x-dashscope-async': 'enable' }), {
    kind: 'forbidden',
  });
});

test('rejects another region before checking anything else', async () => {
  await assert.rejects(createTestResearch({ region: 'ap-southeast-1' }).post({ model: 'qwen-deep-research' }, {}), {
    kind: 'forbidden',
    message:
      'Access denied. Deep research is not offered in Singapore (ap-southeast-1); it is offered in China (Beijing) (cn-beijing).',
  });
});

test('rejects research models on the multimodal path', async () => {
  const { post, clarified } = createTestResearch();
  await assert.rejects(post(body(FIRST_STEP), SSE, createMultimodalGenerationEndpoint), {
    kind: 'model-not-supported',
    message:
      'Unsupported model qwen-deep-research for native generation: its interface, research, is not served on this path.',
  });
  assert.deepEqual(clarified, []);
});

test('rejects before the response head if the run cannot start', async () => {
  const refusal = new ServiceError('rate-limited', 'Two runs at once are enough.');
  for (const messages of [FIRST_STEP, SECOND_STEP]) {
    const reply = await createTestResearch({ refusal }).post(body(messages));
    assert.equal(reply.type, 'stream');
    await assert.rejects(reply.batches[Symbol.asyncIterator]().next(), { kind: 'rate-limited' });
  }
});

test("closes the run's stream on disconnect, and cancels a question", async () => {
  const { post, observed } = createTestResearch();
  assert.equal(createTextGenerationEndpoint({ ...DEPS_WITHOUT_RESEARCH }).onDisconnect, 'cancel');
  const reply = await post(body(SECOND_STEP));
  assert.equal(reply.type, 'stream');
  const reader = reply.batches[Symbol.asyncIterator]();
  await reader.next();
  await reader.return?.();
  assert.equal(observed.isStreamClosed, true);
});

const DEPS_WITHOUT_RESEARCH = {
  generate: () => Promise.reject(new Error('unexpected chat')),
  translate: () => Promise.reject(new Error('unexpected translation')),
  catalogue: () => ({ resolve: async (requestedName: string) => ({ requestedName, entry: RESEARCH_ENTRY }) }),
  clock: systemClock,
};

test('rejects research models in a service without research', async () => {
  const request = { body: body(FIRST_STEP), params: {}, query: new URLSearchParams(), headers: SSE };
  await assert.rejects(
    createTextGenerationEndpoint(DEPS_WITHOUT_RESEARCH).handle(request, createTestResearch().context),
    {
      kind: 'model-not-supported',
      message: /its interface, research, is not served by this version\.$/,
    },
  );
});
