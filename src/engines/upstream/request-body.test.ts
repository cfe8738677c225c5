import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutputFormat, ThinkingWish, ToolUse } from '../../core/request.ts';
import type { ServerKind } from '../../core/server-kind.ts';
import type { EngineRequest } from '../engine.ts';
import { REQUEST } from './__fixtures__/request.ts';
import { requestBody } from './request-body.ts';
import { SERVERS } from './servers.ts';

const request = (change: Partial<EngineRequest> = {}): EngineRequest => ({ ...REQUEST, ...change });

const AT = { model: 'm', server: SERVERS.unknown };

const PLAIN = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: true,
  stream_options: { include_usage: true },
};

test('a plain request says only what was asked', () => {
  assert.deepEqual(requestBody(request(), AT), PLAIN);
});

test('every field the format knows is in its words', () => {
  const body = requestBody(
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
    AT,
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

test('of two limits the smaller one is sent, alone', () => {
  assert.deepEqual(requestBody(request({ maxTokens: 9, maxTotalTokens: 4 }), AT), { ...PLAIN, max_tokens: 4 });
  assert.deepEqual(requestBody(request({ maxTotalTokens: 4 }), AT), { ...PLAIN, max_completion_tokens: 4 });
});

test('messages keep their roles, images, calls and answers to calls', () => {
  const body = requestBody(
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
    AT,
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

test('earlier thoughts are sent only where they are to be kept', () => {
  const messages = [{ role: 'assistant', content: [{ type: 'text', text: 'so' }], reasoning: 'hm' }] as const;
  const sent = (preserveThinking?: boolean): unknown =>
    requestBody(
      request({
        input: { type: 'messages', messages, ...(preserveThinking === undefined ? {} : { preserveThinking }) },
      }),
      AT,
    );
  const plain = { role: 'assistant', content: 'so' };
  assert.deepEqual(sent(), { ...PLAIN, messages: [plain] });
  assert.deepEqual(sent(false), { ...PLAIN, messages: [plain] });
  assert.deepEqual(sent(true), { ...PLAIN, messages: [{ ...plain, reasoning_content: 'hm' }] });
});

test('tools, their choice and the form of the answer are in the words of the format', () => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] as const;
  const parameters = { type: 'object', properties: { x: { type: 'number' } } };
  const toolUse: ToolUse = {
    tools: [
      { name: 'f', description: 'Finds', parameters, field: 'tools[0].function.parameters' },
      { name: 'g', description: '', parameters: undefined, field: 'tools[1].function.parameters' },
    ],
    choice: 'auto',
    isParallel: false,
    streamsComplex: true,
  };
  const tools = [
    { type: 'function', function: { name: 'f', description: 'Finds', parameters } },
    { type: 'function', function: { name: 'g', parameters: { type: 'object', properties: {} } } },
  ];
  const bodyOf = (more: { toolUse?: ToolUse; outputFormat?: OutputFormat }): object =>
    requestBody(request({ input: { type: 'messages', messages, ...more } }), AT);
  assert.deepEqual(bodyOf({ toolUse }), { ...PLAIN, tools, parallel_tool_calls: false });
  assert.deepEqual(bodyOf({ toolUse: { ...toolUse, choice: 'required', isParallel: true } }), {
    ...PLAIN,
    tools,
    tool_choice: 'required',
    parallel_tool_calls: true,
  });
  assert.deepEqual(bodyOf({ toolUse: { ...toolUse, choice: { name: 'g' } } }), {
    ...PLAIN,
    tools,
    tool_choice: { type: 'function', function: { name: 'g' } },
    parallel_tool_calls: false,
  });
  assert.deepEqual(bodyOf({ outputFormat: { type: 'json-object' } }), {
    ...PLAIN,
    response_format: { type: 'json_object' },
  });
  const schema = { type: 'array' };
  const field = 'response_format.json_schema.schema';
  assert.deepEqual(bodyOf({ outputFormat: { type: 'json-schema', name: 'x', schema, field } }), {
    ...PLAIN,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
  });
});

test('what the format cannot say is refused by name', () => {
  const refusals: readonly [Partial<EngineRequest>, string | undefined][] = [
    [{ stop: { strings: [], tokens: [[1]] } }, 'stop'],
    [{ phases: [{ kind: 'answer' }] }, undefined],
    [
      { input: { type: 'messages', messages: [{ role: 'assistant', content: [], partial: true }] } },
      'messages[0].partial',
    ],
  ];
  for (const [change, param] of refusals) {
    assert.throws(() => requestBody(request(change), AT), { kind: 'unsupported', param });
  }
});

const chat = (more: object = {}): EngineRequest['input'] => ({
  type: 'messages',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  ...more,
});
const at = (kind: ServerKind, change: Partial<EngineRequest>): unknown =>
  requestBody(request(change), { model: 'm', server: SERVERS[kind] });

test('each server hears the sampling wishes that it has a word for, in its word', () => {
  const sampling = { temperature: 1, topK: 5, minP: 0.1, repetitionPenalty: 1.1, seed: 3 };
  const all = { ...PLAIN, temperature: 1, top_k: 5, min_p: 0.1, seed: 3 };
  assert.deepEqual(at('vllm', { sampling }), { ...all, repetition_penalty: 1.1 });
  assert.deepEqual(at('sglang', { sampling }), { ...all, repetition_penalty: 1.1 });
  assert.deepEqual(at('llama-server', { sampling }), { ...all, repeat_penalty: 1.1 });
  assert.deepEqual(at('openai', { sampling }), { ...PLAIN, temperature: 1, seed: 3 });
});

test('thinking is switched as the server is told it', () => {
  const told = (kind: ServerKind, thinking: ThinkingWish | false): object => {
    const {
      messages: _,
      model: __,
      stream: ___,
      stream_options: ____,
      ...rest
    } = Object.assign({ messages: 0, model: 0, stream: 0, stream_options: 0 }, at(kind, { input: chat({ thinking }) }));
    return rest;
  };
  const kwargs = (is: boolean): object => ({ chat_template_kwargs: { enable_thinking: is, thinking: is } });
  for (const kind of ['vllm', 'sglang', 'llama-server'] as const) {
    assert.deepEqual(told(kind, false), kwargs(false));
    assert.deepEqual(told(kind, { effort: 'max' }), kwargs(true));
    assert.deepEqual(told(kind, { effort: 'high' }), { ...kwargs(true), reasoning_effort: 'high' });
  }
  assert.deepEqual(told('vllm', { budgetTokens: 9 }), kwargs(true));
  assert.deepEqual(told('llama-server', { budgetTokens: 9, effort: 'high' }), {
    ...kwargs(true),
    thinking_budget_tokens: 9,
  });
  assert.deepEqual(told('openai', false), { reasoning_effort: 'none' });
  assert.deepEqual(told('openai', { budgetTokens: 9 }), { reasoning_effort: 'high' });
  assert.deepEqual(told('unknown', false), {});
});

test('what callers send for the server stands under what we say ourselves', () => {
  const forwarded = {
    model: 'theirs',
    stream: false,
    min_tokens: 3,
    chat_template_kwargs: { enable_thinking: true, style: 'terse' },
  };
  assert.deepEqual(at('vllm', { input: chat({ forwarded, thinking: false }) }), {
    ...PLAIN,
    min_tokens: 3,
    chat_template_kwargs: { style: 'terse', enable_thinking: false, thinking: false },
  });
  assert.deepEqual(at('vllm', { input: chat({ forwarded: { chat_template_kwargs: { a: 1 } } }) }), {
    ...PLAIN,
    chat_template_kwargs: { a: 1 },
  });
});

test('a server that is deaf to a tool by name is offered that one alone, and must call', () => {
  const toolUse: ToolUse = {
    tools: ['f', 'g'].map((name) => ({ name, description: '', parameters: undefined, field: 'tools' })),
    choice: { name: 'g' },
    isParallel: false,
    streamsComplex: true,
  };
  assert.deepEqual(at('llama-server', { input: chat({ toolUse }) }), {
    ...PLAIN,
    tools: [{ type: 'function', function: { name: 'g', parameters: { type: 'object', properties: {} } } }],
    tool_choice: 'required',
    parallel_tool_calls: false,
  });
});

test('forms, limits, log probabilities and ends are said so that the server holds to them', () => {
  const outputFormat = { type: 'json-object' } as const;
  assert.deepEqual(at('llama-server', { input: chat({ outputFormat }), logprobs: { top: 0 } }), {
    ...PLAIN,
    response_format: { type: 'json_object', schema: { type: 'object' } },
    logprobs: true,
    top_logprobs: 1,
  });
  assert.deepEqual(at('openai', { maxTokens: 5 }), { ...PLAIN, max_completion_tokens: 5 });
  const stop = { strings: [], tokens: [[7], [9]] };
  assert.deepEqual(at('vllm', { stop }), { ...PLAIN, stop_token_ids: [7, 9] });
  assert.throws(() => at('vllm', { stop: { strings: [], tokens: [[7, 9]] } }), { kind: 'unsupported', param: 'stop' });
  const input = chat({ messages: [{ role: 'assistant', content: [{ type: 'text', text: 'So' }], partial: true }] });
  const messages = [{ role: 'assistant', content: 'So' }];
  assert.deepEqual(at('vllm', { input }), {
    ...PLAIN,
    messages,
    continue_final_message: true,
    add_generation_prompt: false,
  });
  assert.deepEqual(at('sglang', { input }), { ...PLAIN, messages, continue_final_message: true });
  assert.throws(() => at('openai', { input }), { kind: 'unsupported', param: 'messages[0].partial' });
});

test('images go as they came, and are refused by name where the server says that it has no eyes', () => {
  const urls = ['https://example.com/a.png?x=1&y=%20', 'data:image/png;base64,iVBORw0KGgo='];
  const input = chat({
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'user', content: urls.map((url) => ({ type: 'image', url })) },
    ],
  });
  const needs = { model: 'm', server: SERVERS.vllm };
  for (const abilities of [undefined, {}, { vision: true }]) {
    const body = requestBody(request({ input }), { ...needs, abilities });
    assert.deepEqual(Object.entries(body).find(([name]) => name === 'messages')?.[1], [
      { role: 'user', content: 'Hi' },
      { role: 'user', content: urls.map((url) => ({ type: 'image_url', image_url: { url } })) },
    ]);
  }
  assert.throws(() => requestBody(request({ input }), { ...needs, abilities: { vision: false } }), {
    kind: 'unsupported',
    param: 'messages[1].content',
  });
});
