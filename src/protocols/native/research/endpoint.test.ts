import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { MESSAGES_MAX } from '../../../core/limits.ts';
import type { RegionId } from '../../../core/region.ts';
import type { ResearchEvent, ResearchRequest } from '../../../core/research.ts';
import { systemClock } from '../../../lib/clock.ts';
import { createSseParser } from '../../../lib/sse.ts';
import { bytesOf } from '../../fields/__fixtures__/translating.ts';
import { ENTRY } from '../generation/__fixtures__/golden-cases.ts';
import { multimodalGeneration, textGeneration } from '../generation/endpoint.ts';
import { checkPhases } from './__fixtures__/check-phases.ts';
import { goldenCases } from './__fixtures__/golden-cases.ts';

const RESEARCHER: ModelEntry = { ...ENTRY, name: 'svc-deep-research', interfaces: ['native', 'research'] };

const eventsOf = (name: string): readonly ResearchEvent[] =>
  goldenCases().find((each) => each.name === name)?.events ?? [];

const SSE = { 'x-dashscope-sse': 'enable' };

const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });

const ASKED = [user('Lighthouses')];
const ANSWERED = [...ASKED, assistant('Which ones?'), user('That of Brenwick')];

const body = (messages: unknown, more: object = {}) => ({ model: 'qwen-deep-research', input: { messages }, ...more });

interface RoomOptions {
  readonly region?: RegionId;
  readonly strict?: boolean;
  readonly streamPlan?: boolean;
  readonly entry?: ModelEntry;
  readonly refusal?: ServiceError;
}

function createRoom({
  region = 'cn-beijing',
  strict = false,
  streamPlan = false,
  entry = RESEARCHER,
  refusal,
}: RoomOptions = {}) {
  const clarified: ResearchRequest[] = [];
  const opened: { readonly request: ResearchRequest; readonly likeness: string }[] = [];
  const heard: { context?: RequestContext; isLeft?: boolean; facts?: object } = {};
  const context: RequestContext = {
    requestId: 'rid',
    owner: { workspace: 'w', region, keyId: 'k' },
    signal: new AbortController().signal,
    log: { add: (facts) => Object.assign((heard.facts ??= {}), facts), warn: () => undefined },
  };
  async function* play(name: string): AsyncGenerator<readonly ResearchEvent[]> {
    try {
      for (const event of eventsOf(name)) yield [event];
    } finally {
      heard.isLeft = true;
    }
  }
  const needs = {
    generate: () => Promise.reject(new Error('this is no chat')),
    translate: () => Promise.reject(new Error('nothing is translated here')),
    research: {
      streamPlan,
      research: {
        clarify(request: ResearchRequest, given: RequestContext) {
          clarified.push(request);
          heard.context = given;
          return refusal ? Promise.reject(refusal) : Promise.resolve(play('question'));
        },
      },
      runs: {
        open(wish: { readonly request: ResearchRequest; readonly likeness: string }, given: RequestContext) {
          opened.push(wish);
          heard.context = given;
          return refusal ? Promise.reject(refusal) : Promise.resolve(play('report'));
        },
      },
    },
    catalogue: () => ({ resolve: (asked: string) => ({ asked, entry }) }),
    clock: systemClock,
    strict,
  };
  const post = (sent: unknown, headers: Record<string, string> = SSE, of = textGeneration) =>
    of(needs).handle({ body: sent, params: {}, query: new URLSearchParams(), headers }, context);
  const begin = async (...asked: Parameters<typeof post>): Promise<void> => void (await bytesOf(await post(...asked)));
  return { post, begin, clarified, opened, heard, context };
}

const framesOf = (bytes: string) => createSseParser({ sizeMax: 1_000_000 }).push(bytes);

test('one message is asked back, with the caller as its context', async () => {
  const { post, clarified, opened, heard, context } = createRoom();
  const reply = await post(body(ASKED));
  assert.deepEqual(checkPhases(framesOf(await bytesOf(reply)), { step: 1 }), []);
  assert.deepEqual(clarified, [
    {
      model: 'qwen-deep-research',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Lighthouses' }] }],
      reportSize: 'detailed',
    },
  ]);
  assert.deepEqual(opened, []);
  assert.equal(heard.context, context);
  assert.equal(reply.headers?.['x-parley-ignored'], undefined);
  assert.deepEqual(heard.facts, { asked: 'qwen-deep-research', researchStep: 1 });
});

test('an answer to the question opens a run, as do longer talks', async () => {
  for (const messages of [ANSWERED, [...ANSWERED, assistant('And?'), user('All of it')]]) {
    const { post, clarified, opened, heard, context } = createRoom();
    const reply = await post(body(messages));
    assert.deepEqual(checkPhases(framesOf(await bytesOf(reply)), { step: 2 }), []);
    assert.deepEqual(clarified, []);
    assert.equal(opened[0]?.request.messages.length, messages.length);
    assert.equal(heard.context, context);
    assert.deepEqual(heard.facts, { asked: 'qwen-deep-research', researchStep: 2 });
  }
});

test('the plan is told where the service says so', async () => {
  const { post } = createRoom({ streamPlan: true });
  const frames = framesOf(await bytesOf(await post(body(ANSWERED))));
  assert.deepEqual(checkPhases(frames, { step: 2, streamPlan: true }), []);
  assert.match(frames[0]?.data ?? '', /First who lit the harbour/);
});

test('a report has one of two sizes, asked for at the top or in the parameters', async () => {
  const summary = 'model_summary_report';
  for (const [more, size] of [
    [{}, 'detailed'],
    [{ output_format: null, parameters: null }, 'detailed'],
    [{ output_format: 'model_detailed_report' }, 'detailed'],
    [{ output_format: summary }, 'summary'],
    [{ parameters: { output_format: summary } }, 'summary'],
    [{ output_format: summary, parameters: { output_format: summary } }, 'summary'],
  ] as const) {
    const { begin, opened } = createRoom();
    await begin(body(ANSWERED, more));
    assert.equal(opened[0]?.request.reportSize, size);
  }
});

test('a text may be a list of texts, and a prompt is what was said last', async () => {
  const { begin, opened, clarified } = createRoom();
  await begin(body([...ANSWERED.slice(0, 2), user([{ text: 'That of ' }, { type: 'text', text: 'Brenwick' }])]));
  await begin(body(ANSWERED));
  await begin({ model: 'qwen-deep-research', input: { messages: ANSWERED.slice(0, 2), prompt: 'That of Brenwick' } });
  assert.deepEqual(opened[1], opened[0]);
  assert.deepEqual(opened[2], opened[0]);
  await begin({ model: 'qwen-deep-research', input: { prompt: 'Lighthouses' } });
  assert.equal(clarified.length, 1);
});

test('half a character is none', async () => {
  const { begin, clarified } = createRoom();
  await begin(body([user('a\ud800')]));
  assert.deepEqual(clarified[0]?.messages[0]?.content, [{ type: 'text', text: 'a\ufffd' }]);
});

test('requests are alike where they ask the same, whatever else they say', async () => {
  const { begin, opened } = createRoom();
  await begin(body(ANSWERED));
  await begin(body(ANSWERED, { user: 'me', parameters: { temperature: 1, incremental_output: true } }));
  await begin(body(ANSWERED, { output_format: 'model_detailed_report' }), { 'x-svc-sse': 'enable' });
  await begin({ ...body(ANSWERED), model: 'svc-deep-research' });
  await begin(body(ANSWERED, { output_format: 'model_summary_report' }));
  await begin(body([...ASKED, assistant('Which ones?'), user('Those of Brenwick')]));
  // The same characters, otherwise divided.
  await begin(body([user('LighthousesWhich'), assistant(' ones?'), user('That of Brenwick')]));
  const [first, second, third, ...others] = opened.map(({ likeness }) => likeness);
  assert.match(first ?? '', /^[0-9a-f]{64}$/);
  assert.equal(second, first);
  assert.equal(third, first);
  assert.equal(new Set([first, ...others]).size, 5);
});

test('what changed nothing is named, and what asks for nothing is not', async () => {
  const { post } = createRoom();
  const asking = { temperature: 1, seed: 3, enable_search: true, n: 2, max_tokens: 9, incremental_output: false };
  const tools = [{ type: 'function', function: { name: 'f' } }];
  const reply = await post(
    body([user([{ text: 'Lighthouses', cache_control: { type: 'ephemeral' } }])], {
      stream: true,
      parameters: { ...asking, tools, result_format: 'text', what: 1 },
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
  const idle = { n: 1, tools: [], enable_search: false, enable_thinking: false, tool_choice: 'none', stop: null };
  const parameters = { ...idle, result_format: 'message', incremental_output: true };
  assert.equal((await post(body(ASKED, { parameters }))).headers?.['x-parley-ignored'], undefined);
  const turns = [...ASKED, { ...assistant('Which?'), reasoning_content: 'Hm.', name: 'a' }, user('All')];
  assert.deepEqual((await post(body(turns))).headers, {
    'x-parley-ignored': 'input.messages.name,input.messages.reasoning_content',
  });
});

test('a strict service refuses what it does not know', async () => {
  const { post } = createRoom({ strict: true });
  await post(body(ASKED, { output_format: 'model_summary_report' }));
  await assert.rejects(post(body(ASKED, { stream: true })), { kind: 'invalid-request', param: 'stream' });
});

const TURNS =
  'A deep research model takes one user message, or user and assistant messages in turns that begin and end with a user message';

const REFUSED: readonly (readonly [what: string, sent: unknown, message: string | RegExp, param: string])[] = [
  ['no input', { model: 'm' }, /^Either "prompt" or "messages" must exist/, 'input'],
  ['messages that stand beside the input', { model: 'm', messages: ASKED }, /^Either "prompt" or "messages"/, 'input'],
  ['no messages', body([]), "[] is too short - 'messages' (input.messages: an array of 0)", 'input.messages'],
  ['too many messages', body(Array(MESSAGES_MAX + 1).fill(user('a'))), /must be an array of 1 to /, 'input.messages'],
  [
    'a system message',
    body([{ role: 'system', content: 'Be brief.' }, ...ASKED]),
    'A deep research model takes messages of the roles user and assistant only (input.messages[0].role: "system")',
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
    body([...ASKED, ...ASKED]),
    `${TURNS} (input.messages[1].role: "user")`,
    'input.messages[1].role',
  ],
  [
    'an assistant that begins',
    body([assistant('a')]),
    `${TURNS} (input.messages[0].role: "assistant")`,
    'input.messages[0].role',
  ],
  [
    'an assistant that ends',
    body(ANSWERED.slice(0, 2)),
    `${TURNS}: the last one is the assistant's (input.messages)`,
    'input.messages',
  ],
  [
    'an empty message',
    body([user('')]),
    'Role must be user or assistant and Content length must be greater than 0 (input.messages[0].content)',
    'input.messages[0].content',
  ],
  ['what nobody sees', body([user('\u0000\u200b\ufeff')]), /must be greater than 0/, 'input.messages[0].content'],
  ['blanks', body([...ASKED, assistant(' \n'), user('a')]), /must be greater than 0/, 'input.messages[1].content'],
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
    'another size',
    body(ASKED, { output_format: 'model_book' }),
    'output_format must be one of "model_detailed_report", "model_summary_report", got "model_book".',
    'output_format',
  ],
  [
    'another size in the parameters',
    body(ASKED, { parameters: { output_format: 1 } }),
    'parameters.output_format must be one of "model_detailed_report", "model_summary_report", got 1.',
    'parameters.output_format',
  ],
  [
    'two sizes',
    body(ASKED, { output_format: 'model_summary_report', parameters: { output_format: 'model_detailed_report' } }),
    'output_format is "model_summary_report" at the top of the body (parameters.output_format: "model_detailed_report")',
    'parameters.output_format',
  ],
  [
    'a temperature of 3',
    body(ASKED, { parameters: { temperature: 3 } }),
    /^Temperature should be in/,
    'parameters.temperature',
  ],
];

for (const [what, sent, message, param] of REFUSED) {
  test(`refuses ${what}`, async () => {
    const { post, clarified, opened } = createRoom();
    await assert.rejects(post(sent), { kind: 'invalid-request', message, param });
    assert.deepEqual([clarified, opened], [[], []]);
  });
}

test('who asks for no stream is told how to', async () => {
  for (const messages of [ASKED, ANSWERED, 'none']) {
    const { post, clarified, opened } = createRoom();
    await assert.rejects(post(body(messages), {}), {
      kind: 'invalid-request',
      message:
        'This model only support stream mode, please enable the stream parameter to access the model. (X-Svc-SSE)',
    });
    assert.deepEqual([clarified, opened], [[], []]);
  }
  await createRoom().post(body(ASKED), { accept: 'text/event-stream' });
});

test('a task is refused, as on the whole path', async () => {
  await assert.rejects(createRoom().post(body(ASKED), { ...SSE, 'x-dashscope-async': 'enable' }), {
    kind: 'forbidden',
  });
});

test('another region is refused before anything else is looked at', async () => {
  await assert.rejects(createRoom({ region: 'ap-southeast-1' }).post({ model: 'qwen-deep-research' }, {}), {
    kind: 'forbidden',
    message:
      'Access denied. Deep research is not offered in Singapore (ap-southeast-1); it is offered in China (Beijing) (cn-beijing).',
  });
});

test('the multimodal path does no research', async () => {
  const { post, clarified } = createRoom();
  await assert.rejects(post(body(ASKED), SSE, multimodalGeneration), {
    kind: 'model-not-supported',
    message:
      'Unsupported model qwen-deep-research for native generation: its interface, research, is not served on this path.',
  });
  assert.deepEqual(clarified, []);
});

test('what cannot be begun is refused before the head', async () => {
  const refusal = new ServiceError('rate-limited', 'Two runs at once are enough.');
  for (const messages of [ASKED, ANSWERED]) {
    const reply = await createRoom({ refusal }).post(body(messages));
    assert.equal(reply.type, 'stream');
    await assert.rejects(reply.batches[Symbol.asyncIterator]().next(), { kind: 'rate-limited' });
  }
});

test('who leaves lets go of a run, and its connection ends a question', async () => {
  const { post, heard } = createRoom();
  assert.equal(textGeneration({ ...NEEDED_NOWHERE }).onDisconnect, 'cancel');
  const reply = await post(body(ANSWERED));
  assert.equal(reply.type, 'stream');
  const reader = reply.batches[Symbol.asyncIterator]();
  await reader.next();
  await reader.return?.();
  assert.equal(heard.isLeft, true);
});

const NEEDED_NOWHERE = {
  generate: () => Promise.reject(new Error('this is no chat')),
  translate: () => Promise.reject(new Error('nothing is translated here')),
  catalogue: () => ({ resolve: (asked: string) => ({ asked, entry: RESEARCHER }) }),
  clock: systemClock,
};

test('a service without research says that this version has none', async () => {
  const request = { body: body(ASKED), params: {}, query: new URLSearchParams(), headers: SSE };
  await assert.rejects(textGeneration(NEEDED_NOWHERE).handle(request, createRoom().context), {
    kind: 'model-not-supported',
    message: /its interface, research, is not served by this version\.$/,
  });
});
