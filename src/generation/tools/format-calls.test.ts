import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createChatTemplate } from '../chat-template.ts';
import { CALL_TEMPLATES } from './__fixtures__/call-templates.ts';
import { readCalls } from './__fixtures__/read-calls.ts';
import { USUAL_THOUGHTS } from '../thoughts/thought-format.ts';
import { deriveToolFormat } from './derive-tool-format.ts';
import { formatCalls } from './format-calls.ts';
import { UNSHOWN_FORMATS } from './unshown-formats.ts';
import { TOOL_FORMATS, type ToolFormat } from './tool-formats.ts';

const deriveFormat = (source: string): ToolFormat | undefined => {
  const template = createChatTemplate({ source, specialTokens: [], bosToken: '', eosToken: '' });
  const render = (variables: Readonly<Record<string, unknown>>): string =>
    template
      .render(variables)
      .map(({ text }) => text)
      .join('');
  return deriveToolFormat(render, { specialTokens: [], eosToken: '', thoughts: USUAL_THOUGHTS })?.format;
};

const FORMATS: readonly (readonly [way: string, format: ToolFormat | undefined])[] = [
  ...Object.entries(CALL_TEMPLATES).map(([way, source]) => [way, deriveFormat(source)] as const),
  ...Object.entries(TOOL_FORMATS),
  ...UNSHOWN_FORMATS.map(({ mark, format }) => [mark, format] as const),
];

const TOOLS = ['get_weather', 'stop'].map((name) => ({
  name,
  parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
}));

describe('formatCalls', () => {
  for (const [way, format] of FORMATS)
    it(`writes calls that are parsed to the same calls: ${way}`, () => {
      assert.ok(format);
      const values = { city: 'Ulm', days: 3, list: ['a', 1], deep: { on: true } };
      for (const calls of [
        [{ name: 'get_weather', arguments: JSON.stringify(values) }],
        [
          { name: 'get_weather', arguments: JSON.stringify(values) },
          { name: 'stop', arguments: '{}' },
        ],
      ]) {
        const parsed = readCalls([formatCalls(calls, format)], { format, tools: TOOLS });
        assert.deepEqual(
          parsed.calls.map(({ name, arguments: text }) => [name, JSON.parse(text)]),
          calls.map(({ name, arguments: text }) => [name, JSON.parse(text)]),
        );
        assert.equal(parsed.content.join('').trim(), '');
      }
    });

  it('writes Python values where calls are Python, and keeps arguments that are no JSON', () => {
    const { format } = UNSHOWN_FORMATS.find(({ mark }) => mark === '<|tool_list_start|>') ?? {};
    assert.ok(format);
    assert.equal(
      formatCalls([{ name: 'f', arguments: '{"a": "x \\"y\\"", "b": [true, null], "c": {"d": false}}' }], format),
      '<|tool_call_start|>[f(a="x \\"y\\"", b=[True, None], c={"d": False})]<|tool_call_end|>',
    );
    assert.equal(
      formatCalls([{ name: 'f', arguments: 'not JSON' }], format),
      '<|tool_call_start|>[f(not JSON)]<|tool_call_end|>',
    );
  });
});
