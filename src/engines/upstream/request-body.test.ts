import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutputFormat, ToolUse } from '../../core/request.ts';
import type { EngineRequest } from '../engine.ts';
import { REQUEST } from './__fixtures__/request.ts';
import { requestBody } from './request-body.ts';

const request = (change: Partial<EngineRequest> = {}): EngineRequest => ({ ...REQUEST, ...change });

const PLAIN = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: true,
  stream_options: { include_usage: true },
};

test('a plain request says only what was asked', () => {
  assert.deepEqual(requestBody(request(), 'm'), PLAIN);
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
    'm',
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
  assert.deepEqual(requestBody(request({ maxTokens: 9, maxTotalTokens: 4 }), 'm'), { ...PLAIN, max_tokens: 4 });
  assert.deepEqual(requestBody(request({ maxTotalTokens: 4 }), 'm'), { ...PLAIN, max_completion_tokens: 4 });
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
    'm',
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
      'm',
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
    requestBody(request({ input: { type: 'messages', messages, ...more } }), 'm');
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
    assert.throws(() => requestBody(request(change), 'm'), { kind: 'unsupported', param });
  }
});
