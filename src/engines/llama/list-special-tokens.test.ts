import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  listMarkupInText,
  listSpecialTokens,
  TOKEN_ATTRIBUTE_CONTROL,
  TOKEN_ATTRIBUTE_USER_DEFINED,
} from './list-special-tokens.ts';

const NORMAL = 1 << 2;

function createVocabulary(tokens: readonly (readonly [text: string, attributes: number])[]) {
  const vocabulary = {
    getTokenString: (token: number) => tokens[token]?.[0] ?? '',
    getTokenAttributes: (token: number) => tokens[token]?.[1] ?? 0,
  };
  return { vocabulary, size: tokens.length };
}

test('lists control tokens of any look, and user-defined tokens that are marks', () => {
  const { vocabulary, size } = createVocabulary([
    ['<b>', NORMAL],
    ['assistant', TOKEN_ATTRIBUTE_CONTROL],
    [']~b]', TOKEN_ATTRIBUTE_USER_DEFINED],
    ['[e~[', TOKEN_ATTRIBUTE_CONTROL],
    ['    ', TOKEN_ATTRIBUTE_USER_DEFINED],
    ['\n\n', TOKEN_ATTRIBUTE_USER_DEFINED],
    [' "', TOKEN_ATTRIBUTE_USER_DEFINED],
    ['<tool_call>', TOKEN_ATTRIBUTE_USER_DEFINED],
    ['', TOKEN_ATTRIBUTE_CONTROL],
  ]);
  const tokens = listSpecialTokens(vocabulary, size);
  assert.deepEqual(
    tokens.map(({ id, text }) => [id, text]),
    [
      [1, 'assistant'],
      [2, ']~b]'],
      [3, '[e~['],
      [7, '<tool_call>'],
    ],
  );
  assert.deepEqual(listMarkupInText(tokens), [']~b]', '<tool_call>']);
});

test('lists a token that the file declares, and finds it in texts without the blank of its spelling', () => {
  const { vocabulary, size } = createVocabulary([
    ['a', NORMAL],
    ['▁<PRE>', NORMAL],
  ]);
  const tokens = listSpecialTokens(vocabulary, size, [1]);
  assert.deepEqual(tokens, [{ id: 1, text: '▁<PRE>', isControl: false }]);
  assert.deepEqual(listMarkupInText(tokens), ['<PRE>']);
});
