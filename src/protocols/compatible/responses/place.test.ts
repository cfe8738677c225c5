import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatFields } from './chat-fields.ts';
import { placeIn } from './place.ts';
import { ResponseBody } from './schema.ts';

test('a field of the shared ones is named where this interface has it', () => {
  for (const [field, place] of [
    ['tools[].function.name', 'tools[].name'],
    ['tool_choice.function.name', 'tool_choice.name'],
    ['response_format', 'text.format'],
    ['response_format.json_schema.schema', 'text.format.schema'],
    ['max_completion_tokens(clamped)', 'max_output_tokens(clamped)'],
    ['reasoning_effort', 'reasoning.effort'],
    ['logprobs', 'include'],
    ['logprobs(grammar)', 'logprobs(grammar)'],
    ['messages', 'input'],
    ['messages[2].content', 'input'],
    ['temperature', 'temperature'],
  ] as const) {
    assert.equal(placeIn(field), place);
  }
});

test('a function is named by its place among all tools of the request', () => {
  const tool = { type: 'function', name: 'f' };
  const wire = ResponseBody.parse({ model: 'm', tools: [{ type: 'web_search' }, tool, { type: 'mcp' }, tool] });
  const { place } = chatFields(wire);
  assert.equal(place('tools[1].function.parameters'), 'tools[3].parameters');
});
