import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toChatFields } from './chat-fields.ts';
import { toResponsesPath } from './responses-path.ts';
import { ResponseBody } from './schema.ts';

test('maps shared field names to the paths of this interface', () => {
  for (const [field, path] of [
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
    assert.equal(toResponsesPath(field), path);
  }
});

test('names a function by its position among all tools of the request', () => {
  const tool = { type: 'function', name: 'f' };
  const wire = ResponseBody.parse({ model: 'm', tools: [{ type: 'web_search' }, tool, { type: 'mcp' }, tool] });
  const { toPath } = toChatFields(wire);
  assert.equal(toPath('tools[1].function.parameters'), 'tools[3].parameters');
});
