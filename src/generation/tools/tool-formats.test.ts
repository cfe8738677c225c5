import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { detectToolFormat } from './tool-formats.ts';

describe('detectToolFormat', () => {
  it('detects a format by its marks', () => {
    const tools = '{% for tool in tools %}';
    for (const [source, format] of [
      ["{{ '<tool_call>\\n' }}", 'hermes'],
      ["{{ '<|python_tag|>' }}", 'llama3'],
      ['{{ \'{"name": function name, "parameters": dictionary}\' }}', 'llama3'],
      ['{{ "{\\"name\\": \\"f\\", \\"parameters\\": {}}" }}', 'llama3'],
      ["{{ '[TOOL_CALLS][' }}", 'mistral'],
      ["{{ '[TOOL_CALLS]' + name + '[ARGS]' }}", 'mistral-args'],
      ["{{ '<｜tool▁calls▁begin｜><｜tool▁sep｜>' + '\\n```json\\n' }}", 'deepseek'],
      ["{{ '<｜tool▁calls▁begin｜><｜tool▁sep｜>' }}", 'deepseek-v31'],
      ['{{ \'{"name": "f", "arguments": {}}\' }}', 'json'],
      ["{{ '<tool_call><function=' + name }}", undefined],
      ["{{ '<tool_call>' + name + '<arg_key>' }}", undefined],
      ["{{ 'Call them.' }}", undefined],
    ] as const)
      assert.equal(detectToolFormat(tools + source), format, source);
  });

  it('returns undefined for a template without tools', () => {
    assert.equal(detectToolFormat(undefined), undefined);
    assert.equal(detectToolFormat("{{ message.tool_calls }}{{ '<tool_call>' }}"), undefined);
  });
});
