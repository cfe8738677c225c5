import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBody } from '../../parse.ts';
import { askedFields } from './head.ts';
import { ResponseBody } from './schema.ts';

const told = (body: object) => askedFields(parseBody(ResponseBody, { model: 'm', ...body }).wire, { sampling: {} });

test('what was asked for is told back, spelled out', () => {
  const schema = { type: 'object' };
  const asked = {
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
  assert.deepEqual(told(asked), { ...asked, ...fixed, ...last });
});

test('what a turn goes on from is told by its id', () => {
  const on = (body: object) => {
    const { conversation, previous_response_id } = Object(told(body));
    return { conversation, previous_response_id };
  };
  const conversation = { id: 'conv_1' };
  assert.deepEqual(on({ conversation: 'conv_1' }), { conversation, previous_response_id: null });
  assert.deepEqual(on({ conversation }), { conversation, previous_response_id: null });
  assert.deepEqual(on({ previous_response_id: 'resp_1' }), { conversation: null, previous_response_id: 'resp_1' });
});

test('a form that says nothing of strictness is told as not strict', () => {
  const format = { type: 'json_schema', name: 'x', schema: {} };
  assert.deepEqual(Reflect.get(told({ text: { format } }), 'text'), {
    format: { ...format, description: null, strict: false },
  });
});
