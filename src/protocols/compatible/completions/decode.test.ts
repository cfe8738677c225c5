import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseBody } from '../../parse.ts';
import { decode } from './decode.ts';
import { checkRules } from './rules.ts';
import { CompletionBody, completionTexts } from './schema.ts';
import { ENTRY } from './__fixtures__/entry.ts';

const read = (body: object) => {
  const { wire } = parseBody(CompletionBody, { model: 'm', ...body }, { texts: completionTexts(ENTRY) });
  checkRules(wire);
  return decode(wire);
};
const refused = (body: object, param: string, message: RegExp) =>
  assert.throws(() => read(body), { kind: 'invalid-request', param, message });

describe('the prompts of a request', () => {
  test('are one text, or one for each of a list', () => {
    assert.deepEqual(
      read({ prompt: 'a' }).map(({ prompt }) => prompt),
      [{ type: 'text', text: 'a' }],
    );
    assert.deepEqual(
      read({ prompt: ['a', '<|fim_prefix|>b<|fim_suffix|>c<|fim_middle|>'] }).map(({ prompt }) => prompt),
      [
        { type: 'text', text: 'a' },
        { type: 'fill', prefix: 'b', suffix: 'c' },
      ],
    );
  });

  test('may be token ids, one list or several', () => {
    assert.deepEqual(
      read({ prompt: [1, 2] }).map(({ prompt }) => prompt),
      [{ type: 'tokens', tokens: [1, 2] }],
    );
    assert.deepEqual(
      read({ prompt: [[1], [2, 3]] }).map(({ prompt }) => prompt),
      [
        { type: 'tokens', tokens: [1] },
        { type: 'tokens', tokens: [2, 3] },
      ],
    );
  });

  test('are prefixes as they stand where a suffix is given, also where they read like a template', () => {
    assert.deepEqual(
      read({ prompt: '<|fim_prefix|>a', suffix: 'b' }).map(({ prompt }) => prompt),
      [{ type: 'fill', prefix: '<|fim_prefix|>a', suffix: 'b' }],
    );
    assert.deepEqual(
      read({ prompt: 'a', suffix: '' }).map(({ prompt }) => prompt),
      [{ type: 'text', text: 'a' }],
    );
  });

  test('hold no half of a surrogate pair', () => {
    assert.deepEqual(
      read({ prompt: 'a\uD83D', suffix: '\uDE00b' }).map(({ prompt }) => prompt),
      [{ type: 'fill', prefix: 'a\uFFFD', suffix: '\uFFFDb' }],
    );
  });

  test('are refused where only what follows is given', () => {
    const only = /^Generating content that precedes a given suffix is unsupported/;
    refused({ prompt: '', suffix: 'b' }, 'prompt', only);
    refused({ prompt: '<|fim_prefix|><|fim_suffix|>b<|fim_middle|>' }, 'prompt', only);
    refused({ prompt: ['a', '<|fim_suffix|>b<|fim_middle|>'] }, 'prompt[1]', /none of <\|fim_prefix\|>/);
  });

  test('are refused where there is nothing, too many, or of two kinds', () => {
    refused({ prompt: '' }, 'prompt', /must not be empty/);
    refused({ prompt: 'a', enable_search: true }, 'enable_search', /^This model does not support enable_search\. /);
    refused({ prompt: [] }, 'prompt', /^prompt must be a string/);
    refused({}, 'prompt', /^prompt must be a string/);
    refused({ prompt: Array.from({ length: 17 }, () => 'a') }, 'prompt', /a list of 1 to 16/);
    refused({ prompt: ['a', 1] }, 'prompt[1]', /^prompt must be a string/);
    refused({ prompt: [[]] }, 'prompt[0]', /^prompt must be a string/);
    refused({ prompt: [1, -1] }, 'prompt[0]', /^prompt must be a string/);
  });

  test('of token ids are refused with a suffix or an echo', () => {
    refused({ prompt: [1], suffix: 'b' }, 'suffix', /needs a prompt of text/);
    refused({ prompt: [[1]], echo: true }, 'echo', /needs a prompt of text/);
  });
});

describe('the parameters of a request', () => {
  test('are told in our words', () => {
    const bias = { '5': -100 };
    const [request] = read({
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

  test('lose top_p where temperature is set too', () => {
    assert.deepEqual(read({ prompt: 'a', temperature: 0, top_p: 0.5 })[0].sampling, { temperature: 0 });
    assert.deepEqual(read({ prompt: 'a', top_p: 0.5 })[0].sampling, { topP: 0.5 });
  });

  test('are refused out of their range, in the prescribed words', () => {
    refused({ prompt: 'a', temperature: 2 }, 'temperature', /^Temperature should be in \[0\.0, 2\.0\)/);
    refused({ prompt: 'a', top_p: 0 }, 'top_p', /^Range of top_p should be \(0\.0, 1\.0\]/);
    refused({ prompt: 'a', max_tokens: 0 }, 'max_tokens', /^Range of max_tokens should be \[1, 100\]/);
    refused({ prompt: 'a', logprobs: 6 }, 'logprobs', /^Range of logprobs should be \[0, 5\]/);
    refused({ prompt: 'a', logprobs: true }, 'logprobs', /^Range of logprobs/);
    refused({ prompt: 'a', n: 5 }, 'n', /^Range of n should be \[1, 4\]/);
    refused({ prompt: 'a', stop: '' }, 'stop', /must not be empty/);
    refused({ prompt: 'a', logit_bias: { x: 1 } }, 'logit_bias', /logit_bias must map/);
    refused({ prompt: 'a', logit_bias: { 5: 1, x: 2 } }, 'logit_bias', /the key "x" does not \(logit_bias: 2\)/);
    refused({ prompt: 'a', presence_penalty: 3 }, 'presence_penalty', /^Presence_penalty/);
  });

  test('may say best_of where it changes nothing', () => {
    assert.equal(read({ prompt: 'a', best_of: 1 })[0].choices, 1);
    assert.equal(read({ prompt: 'a', best_of: 2, n: 2 })[0].choices, 2);
    refused({ prompt: 'a', best_of: 3 }, 'best_of', /must be 1 or equal to n/);
    refused({ prompt: 'a', best_of: 1, n: 2 }, 'best_of', /must not be smaller than n/);
  });

  test('name no prompt in a refusal', () => {
    assert.throws(
      () => read({ prompt: '<|fim_suffix|>my secret' }),
      (error) => error instanceof Error && !error.message.includes('secret'),
    );
  });
});
