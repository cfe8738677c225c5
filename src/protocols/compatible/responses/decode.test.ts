import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBody } from '../../parse.ts';
import { decodeResponseTurn } from './decode.ts';
import { ResponseBody } from './schema.ts';

const USER_MESSAGE = { type: 'message', role: 'user', content: 'Hi' } as const;
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } };
const tool = (name: string) => ({ type: 'function', name, description: `Does ${name}`, parameters: PARAMETERS });

const decoded = (body: object) => {
  const { wire } = parseBody(ResponseBody, { model: 'm', ...body });
  return decodeResponseTurn(wire, { history: [], input: [USER_MESSAGE] }).withoutOldestTurns(0);
};

test('decodes a request without options', () => {
  assert.deepEqual(decoded({}), {
    model: 'm',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    sampling: {},
    stop: { strings: [], tokens: [] },
    choices: 1,
  });
});

test('decodes every option', () => {
  const {
    messages: _,
    stop: __,
    ...request
  } = decoded({
    temperature: 0.3,
    top_p: 0.9,
    max_output_tokens: 50,
    top_logprobs: 2,
    include: ['message.output_text.logprobs'],
    reasoning: { effort: 'xhigh' },
    thinking_budget: 40,
    preserve_thinking: true,
    parallel_tool_calls: true,
    tools: [{ type: 'web_search' }, tool('a'), tool('b')],
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] },
    text: { format: { type: 'json_schema', name: 'x', schema: PARAMETERS, strict: true } },
  });
  assert.deepEqual(request, {
    model: 'm',
    sampling: { temperature: 0.3, topP: 0.9 },
    choices: 1,
    maxTotalTokens: 50,
    logprobs: { top: 2 },
    thinking: { budgetTokens: 40, effort: 'xhigh' },
    preserveThinking: true,
    toolUse: {
      tools: [{ name: 'b', description: 'Does b', parameters: PARAMETERS, field: 'tools[2].parameters' }],
      choice: 'required',
      isParallel: true,
      streamsComplexArguments: true,
    },
    outputFormat: { type: 'json-schema', name: 'x', schema: PARAMETERS, field: 'text.format.schema' },
  });
});

test('decodes instructions as a system message, and drops empty ones', () => {
  const getSystemText = (instructions: string) =>
    decoded({ instructions }).messages.filter(({ role }) => role === 'system');
  assert.deepEqual(getSystemText('a\ud800'), [{ role: 'system', content: [{ type: 'text', text: 'a\ufffd' }] }]);
  assert.deepEqual(getSystemText(''), []);
});
