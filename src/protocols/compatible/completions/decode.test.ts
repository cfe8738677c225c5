import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseBody } from '../../parse.ts';
import { decodeCompletion } from './decode.ts';
import { checkCompletionRules } from './rules.ts';
import { CompletionBody, createCompletionTexts } from './schema.ts';
import { ENTRY } from './__fixtures__/entry.ts';

const parseAndDecode = (body: object) => {
  const { wire } = parseBody(CompletionBody, { model: 'm', ...body }, { texts: createCompletionTexts(ENTRY) });
  checkCompletionRules(wire, ENTRY);
  return decodeCompletion(wire);
};
const assertRefused = (body: object, param: string, message: RegExp) =>
  assert.throws(() => parseAndDecode(body), { kind: 'invalid-request', param, message });

describe('decoding prompts', () => {
  test('accepts one text or a list of texts', () => {
    assert.deepEqual(
      parseAndDecode({ prompt: 'a' }).map(({ prompt }) => prompt),
      [{ type: 'text', text: 'a' }],
    );
    assert.deepEqual(
      parseAndDecode({ prompt: ['a', '<|fim_prefix|>b<|fim_suffix|>c<|fim_middle|>'] }).map(({ prompt }) => prompt),
      [
        { type: 'text', text: 'a' },
        { type: 'fill', prefix: 'b', suffix: 'c' },
      ],
    );
  });

  test('accepts one list of token ids or several', () => {
    assert.deepEqual(
      parseAndDecode({ prompt: [1, 2] }).map(({ prompt }) => prompt),
      [{ type: 'tokens', tokens: [1, 2] }],
    );
    assert.deepEqual(
      parseAndDecode({ prompt: [[1], [2, 3]] }).map(({ prompt }) => prompt),
      [
        { type: 'tokens', tokens: [1] },
        { type: 'tokens', tokens: [2, 3] },
      ],
    );
  });

  test('uses the prompt as prefix if a suffix is given, even if it looks like a template', () => {
    assert.deepEqual(
      parseAndDecode({ prompt: '<|fim_prefix|>a', suffix: 'b' }).map(({ prompt }) => prompt),
      [{ type: 'fill', prefix: '<|fim_prefix|>a', suffix: 'b' }],
    );
    assert.deepEqual(
      parseAndDecode({ prompt: 'a', suffix: '' }).map(({ prompt }) => prompt),
      [{ type: 'text', text: 'a' }],
    );
  });

  test('replaces half a surrogate pair', () => {
    assert.deepEqual(
      parseAndDecode({ prompt: 'a\uD83D', suffix: '\uDE00b' }).map(({ prompt }) => prompt),
      [{ type: 'fill', prefix: 'a\uFFFD', suffix: '\uFFFDb' }],
    );
  });

  test('rejects a prompt that has only a suffix', () => {
    const only = /^Generating content that precedes a given suffix is unsupported/;
    assertRefused({ prompt: '', suffix: 'b' }, 'prompt', only);
    assertRefused({ prompt: '<|fim_prefix|><|fim_suffix|>b<|fim_middle|>' }, 'prompt', only);
    assertRefused({ prompt: ['a', '<|fim_suffix|>b<|fim_middle|>'] }, 'prompt[1]', /none of <\|fim_prefix\|>/);
  });

  test('rejects no prompts, too many, and mixed kinds', () => {
    assertRefused({ prompt: '' }, 'prompt', /must not be empty/);
    assertRefused(
      { prompt: 'a', enable_search: true },
      'enable_search',
      /^This model does not support enable_search\. /,
    );
    assertRefused({ prompt: [] }, 'prompt', /^prompt must be a string/);
    assertRefused({}, 'prompt', /^prompt must be a string/);
    assertRefused({ prompt: Array.from({ length: 17 }, () => 'a') }, 'prompt', /a list of 1 to 16/);
    assertRefused({ prompt: ['a', 1] }, 'prompt[1]', /^prompt must be a string/);
    assertRefused({ prompt: [[]] }, 'prompt[0]', /^prompt must be a string/);
    assertRefused({ prompt: [1, -1] }, 'prompt[0]', /^prompt must be a string/);
  });

  test('rejects token ids with suffix or echo', () => {
    assertRefused({ prompt: [1], suffix: 'b' }, 'suffix', /requires a text prompt/);
    assertRefused({ prompt: [[1]], echo: true }, 'echo', /requires a text prompt/);
    assertRefused({ prompt: 'a', suffix: 'b', echo: true, logprobs: 1 }, 'echo', /requires a prompt without suffix/);
  });
});

describe('decoding parameters', () => {
  test('decodes every parameter', () => {
    const bias = { '5': -100 };
    const [request] = parseAndDecode({
      prompt: 'a',
      max_tokens: 4,
      temperature: 0.2,
      seed: 7,
      n: 2,
      stop: ['x'],
      logprobs: 0,
      logit_bias: bias,
    });
    assert.deepEqual(request, {
      model: 'm',
      messages: [],
      prompt: { type: 'text', text: 'a' },
      sampling: { temperature: 0.2, seed: 7, logitBias: new Map([[5, -100]]) },
      stop: { strings: ['x'], tokens: [] },
      choices: 2,
      maxTokens: 4,
      logprobs: { top: 0 },
    });
  });

  test('ignores top_p if temperature is set too', () => {
    assert.deepEqual(parseAndDecode({ prompt: 'a', temperature: 0, top_p: 0.5 })[0].sampling, { temperature: 0 });
    assert.deepEqual(parseAndDecode({ prompt: 'a', top_p: 0.5 })[0].sampling, { topP: 0.5 });
  });

  test('rejects values out of range with the prescribed texts', () => {
    assertRefused({ prompt: 'a', temperature: 2 }, 'temperature', /^Temperature should be in \[0\.0, 2\.0\)/);
    assertRefused({ prompt: 'a', top_p: 0 }, 'top_p', /^Range of top_p should be \(0\.0, 1\.0\]/);
    assertRefused({ prompt: 'a', max_tokens: 0 }, 'max_tokens', /^Range of max_tokens should be \[1, 100\]/);
    assertRefused({ prompt: 'a', logprobs: 6 }, 'logprobs', /^Range of logprobs should be \[0, 5\]/);
    assertRefused({ prompt: 'a', logprobs: true }, 'logprobs', /^Range of logprobs/);
    assertRefused({ prompt: 'a', n: 5 }, 'n', /^Range of n should be \[1, 4\]/);
    assertRefused({ prompt: 'a', stop: '' }, 'stop', /must not be empty/);
    assertRefused({ prompt: 'a', logit_bias: { x: 1 } }, 'logit_bias', /logit_bias must map/);
    assertRefused({ prompt: 'a', logit_bias: { 5: 1, x: 2 } }, 'logit_bias', /the key "x" does not \(logit_bias: 2\)/);
    assertRefused({ prompt: 'a', presence_penalty: 3 }, 'presence_penalty', /^Presence_penalty/);
  });

  test('accepts best_of if it has no effect', () => {
    assert.equal(parseAndDecode({ prompt: 'a', best_of: 1 })[0].choices, 1);
    assert.equal(parseAndDecode({ prompt: 'a', best_of: 2, n: 2 })[0].choices, 2);
    assertRefused({ prompt: 'a', best_of: 3 }, 'best_of', /must be 1 or equal to n/);
    assertRefused({ prompt: 'a', best_of: 1, n: 2 }, 'best_of', /must not be smaller than n/);
  });

  test('error messages contain no prompt text', () => {
    assert.throws(
      () => parseAndDecode({ prompt: '<|fim_suffix|>my secret' }),
      (error) => error instanceof Error && !error.message.includes('secret'),
    );
  });
});
