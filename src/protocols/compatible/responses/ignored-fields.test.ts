import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBody } from '../../parse.ts';
import { listIgnoredResponseFields } from './ignored-fields.ts';
import { ResponseBody } from './schema.ts';

/** @param ignoredByModel Abilities that the model lacks, by generation's names. */
const listIgnored = (body: object, ...ignoredByModel: readonly string[]) =>
  listIgnoredResponseFields(parseBody(ResponseBody, { model: 'm', ...body }).wire, [], ignoredByModel);

for (const [name, body, ignoredByModel, expected] of [
  ['max_tool_calls', { max_tool_calls: 2 }, [], ['max_tool_calls']],
  ['obfuscation', { stream_options: { include_obfuscation: true } }, [], ['stream_options.include_obfuscation']],
  ['no obfuscation', { stream_options: { include_obfuscation: false } }, [], []],
  ['the default verbosity', { text: { verbosity: 'medium' } }, [], []],
  ['another verbosity', { text: { verbosity: 'low' } }, [], ['text.verbosity']],
  ['top_logprobs without include', { top_logprobs: 2 }, [], ['top_logprobs']],
  ['top_logprobs with include', { top_logprobs: 2, include: ['message.output_text.logprobs'] }, [], []],
  ['an effort that the model ignores', { reasoning: { effort: 'low' } }, ['thinking'], ['reasoning.effort']],
  ['no effort', { reasoning: { effort: 'none' }, enable_thinking: true }, ['thinking'], []],
  ['thinking that the model ignores', { enable_thinking: true }, ['thinking'], ['enable_thinking']],
] as const) {
  test(`${name}: ${expected.length === 0 ? 'nothing is named' : `names ${expected.join()}`}`, () => {
    assert.deepEqual(listIgnored(body, ...ignoredByModel), expected);
  });
}
