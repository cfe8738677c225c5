import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBody } from '../../parse.ts';
import { encodeRequestFields } from './head.ts';
import { ResponseBody } from './schema.ts';

const encodeFields = (body: object) =>
  encodeRequestFields(parseBody(ResponseBody, { model: 'm', ...body }).wire, { sampling: {} });

test('encodes request fields with defaults', () => {
  const schema = { type: 'object' };
  const requestBody = {
    parallel_tool_calls: true,
    tool_choice: { type: 'function', name: 'f' },
    tools: [
      { type: 'function', name: 'f', description: 'd', parameters: schema, strict: true },
      { type: 'web_search', filters: {} },
    ],
    instructions: 'Be brief.',
    metadata: { a: 'b' },
    max_output_tokens: 5,
    max_tool_calls: 2,
    temperature: 0.5,
    top_p: 0.25,
    top_logprobs: 3,
    text: { format: { type: 'json_schema', name: 'x', description: 'd', schema, strict: true }, verbosity: 'low' },
    reasoning: { effort: 'low', summary: 'auto' },
    store: false,
    truncation: 'auto',
    user: 'u',
    safety_identifier: 's',
    prompt_cache_key: 'p',
  };
  const fixed = { presence_penalty: 0, frequency_penalty: 0, background: false, service_tier: 'default' };
  const last = { previous_response_id: null, conversation: null };
  assert.deepEqual(encodeFields(requestBody), { ...requestBody, ...fixed, ...last });
});

test('encodes the conversation or previous response by id', () => {
  const encodeChain = (body: object) => {
    const { conversation, previous_response_id } = Object(encodeFields(body));
    return { conversation, previous_response_id };
  };
  const conversation = { id: 'conv_1' };
  assert.deepEqual(encodeChain({ conversation: 'conv_1' }), { conversation, previous_response_id: null });
  assert.deepEqual(encodeChain({ conversation }), { conversation, previous_response_id: null });
  assert.deepEqual(encodeChain({ previous_response_id: 'resp_1' }), {
    conversation: null,
    previous_response_id: 'resp_1',
  });
});

test('encodes a format without strict as not strict', () => {
  const format = { type: 'json_schema', name: 'x', schema: {} };
  assert.deepEqual(Reflect.get(encodeFields({ text: { format } }), 'text'), {
    format: { ...format, description: null, strict: false },
  });
});
