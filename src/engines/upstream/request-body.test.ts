import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutputFormat, ThinkingOptions, ToolUseOptions } from '../../core/request.ts';
import type { ServerKind } from '../../core/server-kind.ts';
import type { EngineRequest } from '../engine.ts';
import { REQUEST } from './__fixtures__/test-request.ts';
import { encodeRequestBody } from './request-body.ts';
import { SERVER_PROFILES } from './server-profiles.ts';

const request = (change: Partial<EngineRequest> = {}): EngineRequest => ({ ...REQUEST, ...change });

const OPTIONS = { model: 'm', server: SERVER_PROFILES.unknown };

const PLAIN = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: true,
  stream_options: { include_usage: true },
};

test('sends only requested fields', () => {
  assert.deepEqual(encodeRequestBody(request(), OPTIONS), PLAIN);
});

test('encodes every field of the format', () => {
  const body = encodeRequestBody(
    request({
      sampling: {
        temperature: 0,
        topP: 0.5,
        topK: 0,
        minP: 0.1,
        repetitionPenalty: 1.1,
        presencePenalty: -1,
        frequencyPenalty: 1,
        logitBias: new Map([[5, -100]]),
        seed: 0,
      },
      stop: { strings: ['END'], tokens: [], special: ['<|im_end|>'] },
      choices: 3,
      maxTokens: 7,
      logprobs: { top: 2 },
    }),
    OPTIONS,
  );
  assert.deepEqual(body, {
    ...PLAIN,
    temperature: 0,
    top_p: 0.5,
    top_k: -1,
    min_p: 0.1,
    repetition_penalty: 1.1,
    presence_penalty: -1,
    frequency_penalty: 1,
    logit_bias: { 5: -100 },
    seed: 0,
    n: 3,
    stop: ['END'],
    max_tokens: 7,
    logprobs: true,
    top_logprobs: 2,
  });
});

test('sends only the smaller of two limits', () => {
  assert.deepEqual(encodeRequestBody(request({ maxTokens: 9, maxTotalTokens: 4 }), OPTIONS), {
    ...PLAIN,
    max_tokens: 4,
  });
  assert.deepEqual(encodeRequestBody(request({ maxTotalTokens: 4 }), OPTIONS), { ...PLAIN, max_completion_tokens: 4 });
});

test('keeps roles, images, calls and tool results of messages', () => {
  const body = encodeRequestBody(
    request({
      input: {
        type: 'messages',
        messages: [
          { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
          {
            role: 'user',
            name: 'ann',
            content: [
              { type: 'text', text: 'What is this?', cache: 'ephemeral' },
              { type: 'image', url: 'data:image/png;base64,AA==' },
            ],
          },
          { role: 'assistant', content: [], reasoning: 'hm', toolCalls: [{ id: 'c1', name: 'look', arguments: '{}' }] },
          {
            role: 'tool',
            toolCallId: 'c1',
            content: [
              { type: 'text', text: 'a ' },
              { type: 'text', text: 'cat' },
            ],
          },
          { role: 'assistant', content: [] },
        ],
      },
    }),
    OPTIONS,
  );
  assert.deepEqual(body, {
    ...PLAIN,
    messages: [
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        ],
        name: 'ann',
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', content: 'a cat', tool_call_id: 'c1' },
      { role: 'assistant', content: '' },
    ],
  });
});

test('sends earlier reasoning only if it is to be preserved', () => {
  const messages = [{ role: 'assistant', content: [{ type: 'text', text: 'so' }], reasoning: 'hm' }] as const;
  const sent = (preserveThinking?: boolean): unknown =>
    encodeRequestBody(
      request({
        input: { type: 'messages', messages, ...(preserveThinking === undefined ? {} : { preserveThinking }) },
      }),
      OPTIONS,
    );
  const plain = { role: 'assistant', content: 'so' };
  assert.deepEqual(sent(), { ...PLAIN, messages: [plain] });
  assert.deepEqual(sent(false), { ...PLAIN, messages: [plain] });
  assert.deepEqual(sent(true), { ...PLAIN, messages: [{ ...plain, reasoning_content: 'hm' }] });
});

test('encodes tools, their choice and the output format', () => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] as const;
  const parameters = { type: 'object', properties: { x: { type: 'number' } } };
  const toolUse: ToolUseOptions = {
    tools: [
      { name: 'f', description: 'Finds', parameters, field: 'tools[0].function.parameters' },
      { name: 'g', description: '', parameters: undefined, field: 'tools[1].function.parameters' },
    ],
    choice: 'auto',
    isParallel: false,
    streamsComplexArguments: true,
  };
  const tools = [
    { type: 'function', function: { name: 'f', description: 'Finds', parameters } },
    { type: 'function', function: { name: 'g', parameters: { type: 'object', properties: {} } } },
  ];
  const createBody = (more: { toolUse?: ToolUseOptions; outputFormat?: OutputFormat }): object =>
    encodeRequestBody(request({ input: { type: 'messages', messages, ...more } }), OPTIONS);
  assert.deepEqual(createBody({ toolUse }), { ...PLAIN, tools, parallel_tool_calls: false });
  assert.deepEqual(createBody({ toolUse: { ...toolUse, choice: 'required', isParallel: true } }), {
    ...PLAIN,
    tools,
    tool_choice: 'required',
    parallel_tool_calls: true,
  });
  assert.deepEqual(createBody({ toolUse: { ...toolUse, choice: { name: 'g' } } }), {
    ...PLAIN,
    tools,
    tool_choice: { type: 'function', function: { name: 'g' } },
    parallel_tool_calls: false,
  });
  assert.deepEqual(createBody({ outputFormat: { type: 'json-object' } }), {
    ...PLAIN,
    response_format: { type: 'json_object' },
  });
  const schema = { type: 'array' };
  const field = 'response_format.json_schema.schema';
  assert.deepEqual(createBody({ outputFormat: { type: 'json-schema', name: 'x', schema, field } }), {
    ...PLAIN,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
  });
});

test('refuses unsupported fields by name', () => {
  const refusals: readonly [Partial<EngineRequest>, string | undefined][] = [
    [{ stop: { strings: [], tokens: [[1]] } }, 'stop'],
    [{ phases: [{ kind: 'answer' }] }, undefined],
    [
      { input: { type: 'messages', messages: [{ role: 'assistant', content: [], partial: true }] } },
      'messages[0].partial',
    ],
  ];
  for (const [change, param] of refusals) {
    assert.throws(() => encodeRequestBody(request(change), OPTIONS), { kind: 'unsupported', param });
  }
});

const chat = (more: object = {}): EngineRequest['input'] => ({
  type: 'messages',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  ...more,
});
const encodeFor = (kind: ServerKind, change: Partial<EngineRequest>): unknown =>
  encodeRequestBody(request(change), { model: 'm', server: SERVER_PROFILES[kind] });

test('encodes sampling options with the field names of each server', () => {
  const sampling = { temperature: 1, topK: 5, minP: 0.1, repetitionPenalty: 1.1, seed: 3 };
  const all = { ...PLAIN, temperature: 1, top_k: 5, min_p: 0.1, seed: 3 };
  assert.deepEqual(encodeFor('vllm', { sampling }), { ...all, repetition_penalty: 1.1 });
  assert.deepEqual(encodeFor('sglang', { sampling }), { ...all, repetition_penalty: 1.1 });
  assert.deepEqual(encodeFor('llama-server', { sampling }), { ...all, repeat_penalty: 1.1 });
  assert.deepEqual(encodeFor('openai', { sampling }), { ...PLAIN, temperature: 1, seed: 3 });
});

test('switches thinking in the way of each server', () => {
  const encodeThinkingFor = (kind: ServerKind, thinking: ThinkingOptions | false): object => {
    const {
      messages: _,
      model: __,
      stream: ___,
      stream_options: ____,
      ...rest
    } = Object.assign(
      { messages: 0, model: 0, stream: 0, stream_options: 0 },
      encodeFor(kind, { input: chat({ thinking }) }),
    );
    return rest;
  };
  const kwargs = (is: boolean): object => ({ chat_template_kwargs: { enable_thinking: is, thinking: is } });
  for (const kind of ['vllm', 'sglang', 'llama-server'] as const) {
    assert.deepEqual(encodeThinkingFor(kind, false), kwargs(false));
    for (const effort of ['xhigh', 'max'] as const) assert.deepEqual(encodeThinkingFor(kind, { effort }), kwargs(true));
    for (const effort of ['minimal', 'low', 'medium', 'high'] as const)
      assert.deepEqual(encodeThinkingFor(kind, { effort }), { ...kwargs(true), reasoning_effort: 'high' });
  }
  assert.deepEqual(encodeThinkingFor('vllm', { budgetTokens: 9 }), kwargs(true));
  assert.deepEqual(encodeThinkingFor('llama-server', { budgetTokens: 9, effort: 'high' }), {
    ...kwargs(true),
    thinking_budget_tokens: 9,
  });
  assert.deepEqual(encodeThinkingFor('openai', false), { reasoning_effort: 'none' });
  assert.deepEqual(encodeThinkingFor('openai', { budgetTokens: 9 }), { reasoning_effort: 'high' });
  assert.deepEqual(encodeThinkingFor('unknown', false), {});
});

test('overwrites forwarded fields with those that Parley sets', () => {
  const forwarded = {
    model: 'theirs',
    stream: false,
    min_tokens: 3,
    chat_template_kwargs: { enable_thinking: true, style: 'terse' },
  };
  assert.deepEqual(encodeFor('vllm', { input: chat({ forwarded, thinking: false }) }), {
    ...PLAIN,
    min_tokens: 3,
    chat_template_kwargs: { style: 'terse', enable_thinking: false, thinking: false },
  });
  assert.deepEqual(encodeFor('vllm', { input: chat({ forwarded: { chat_template_kwargs: { a: 1 } } }) }), {
    ...PLAIN,
    chat_template_kwargs: { a: 1 },
  });
});

test('offers a server that cannot force a tool only that tool, and requires a call', () => {
  const toolUse: ToolUseOptions = {
    tools: ['f', 'g'].map((name) => ({ name, description: '', parameters: undefined, field: 'tools' })),
    choice: { name: 'g' },
    isParallel: false,
    streamsComplexArguments: true,
  };
  assert.deepEqual(encodeFor('llama-server', { input: chat({ toolUse }) }), {
    ...PLAIN,
    tools: [{ type: 'function', function: { name: 'g', parameters: { type: 'object', properties: {} } } }],
    tool_choice: 'required',
    parallel_tool_calls: false,
  });
});

test('encodes formats, limits, log probabilities and stop tokens as each server enforces them', () => {
  const outputFormat = { type: 'json-object' } as const;
  assert.deepEqual(encodeFor('llama-server', { input: chat({ outputFormat }), logprobs: { top: 0 } }), {
    ...PLAIN,
    response_format: { type: 'json_object', schema: { type: 'object' } },
    logprobs: true,
    top_logprobs: 1,
  });
  assert.deepEqual(encodeFor('openai', { maxTokens: 5 }), { ...PLAIN, max_completion_tokens: 5 });
  const stop = { strings: [], tokens: [[7], [9]] };
  assert.deepEqual(encodeFor('vllm', { stop }), { ...PLAIN, stop_token_ids: [7, 9] });
  assert.throws(() => encodeFor('vllm', { stop: { strings: [], tokens: [[7, 9]] } }), {
    kind: 'unsupported',
    param: 'stop',
  });
  const input = chat({ messages: [{ role: 'assistant', content: [{ type: 'text', text: 'So' }], partial: true }] });
  const messages = [{ role: 'assistant', content: 'So' }];
  assert.deepEqual(encodeFor('vllm', { input }), {
    ...PLAIN,
    messages,
    continue_final_message: true,
    add_generation_prompt: false,
  });
  assert.deepEqual(encodeFor('sglang', { input }), { ...PLAIN, messages, continue_final_message: true });
  assert.deepEqual(encodeFor('llama-server', { input }), { ...PLAIN, messages });
  assert.throws(() => encodeFor('openai', { input }), {
    kind: 'unsupported',
    message: 'The model of this request runs on a server that has no support for continuing a message.',
    param: 'messages[0].partial',
  });
});

test('sends images unchanged, and refuses them by name for a model without vision', () => {
  const urls = ['data:image/gif;base64,R0lGODlh', 'data:image/png;base64,iVBORw0KGgo='];
  const input = chat({
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'user', content: urls.map((url) => ({ type: 'image', url })) },
    ],
  });
  const deps = { model: 'm', server: SERVER_PROFILES.vllm };
  for (const abilities of [undefined, {}, { vision: true }]) {
    const body = encodeRequestBody(request({ input }), { ...deps, abilities });
    assert.deepEqual(Object.entries(body).find(([name]) => name === 'messages')?.[1], [
      { role: 'user', content: 'Hi' },
      { role: 'user', content: urls.map((url) => ({ type: 'image_url', image_url: { url } })) },
    ]);
  }
  // The server would fetch it, whatever network it is in.
  const unfetched = chat({
    messages: [{ role: 'user', content: [{ type: 'image', url: 'http://127.0.0.1/secret' }] }],
  });
  assert.throws(() => encodeRequestBody(request({ input: unfetched }), deps), {
    kind: 'unsupported',
    param: 'messages',
  });
  assert.throws(() => encodeRequestBody(request({ input }), { ...deps, abilities: { vision: false } }), {
    kind: 'unsupported',
    param: 'messages[1].content',
  });
});
