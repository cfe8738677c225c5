import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBody } from '../../parse.ts';
import { ignoredFields } from './ignored-fields.ts';
import { ResponseBody } from './schema.ts';

/** @param unheard What the model cannot do, in the words of generation. */
const named = (body: object, ...unheard: readonly string[]) =>
  ignoredFields(parseBody(ResponseBody, { model: 'm', ...body }).wire, [], unheard);

for (const [name, body, unheard, expected] of [
  ['a wish for tool calls in a number', { max_tool_calls: 2 }, [], ['max_tool_calls']],
  ['padding', { stream_options: { include_obfuscation: true } }, [], ['stream_options.include_obfuscation']],
  ['no padding', { stream_options: { include_obfuscation: false } }, [], []],
  ['the verbosity that there is', { text: { verbosity: 'medium' } }, [], []],
  ['another verbosity', { text: { verbosity: 'low' } }, [], ['text.verbosity']],
  ['likely tokens that are not included', { top_logprobs: 2 }, [], ['top_logprobs']],
  ['likely tokens', { top_logprobs: 2, include: ['message.output_text.logprobs'] }, [], []],
  ['an effort that nobody makes', { reasoning: { effort: 'low' } }, ['thinking'], ['reasoning.effort']],
  ['no effort', { reasoning: { effort: 'none' }, enable_thinking: true }, ['thinking'], []],
  ['thinking that nobody does', { enable_thinking: true }, ['thinking'], ['enable_thinking']],
] as const) {
  test(`${name}: ${expected.length === 0 ? 'nothing is named' : `names ${expected.join()}`}`, () => {
    assert.deepEqual(named(body, ...unheard), expected);
  });
}
