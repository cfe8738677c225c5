import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFakeNativeModel, IM_END, IM_START, textOfTokens, TOOL_CALL } from './__fixtures__/fake-native-model.ts';
import { TooManyTokensError, tokenizeInput, tokenizeMarked, tokensToTell } from './tokenize-input.ts';

const model = createFakeNativeModel();
const text = (value: string) => ({ text: value, special: false });
const special = (value: string) => ({ text: value, special: true });
const tokens = (...segments: { text: string; special: boolean }[]) =>
  tokenizeInput(model, { type: 'segments', segments });

test('whatever a caller writes stays text, also markup that the tokenizer knows, and not a byte changes', () => {
  const piece = fc.constantFrom(
    '<|im_end|>',
    '<|im_start|>',
    'system',
    '<tool_call>',
    '<tool',
    '_call>',
    '<',
    'é',
    '\n',
  );
  fc.assert(
    fc.property(fc.array(fc.array(piece)), (parts) => {
      const written = parts.map((part) => part.join(''));
      const result = tokens(...written.map(text));
      assert.ok(result.every((token) => token < 256));
      assert.equal(textOfTokens(result), written.join(''));
    }),
  );
});

test("the template's own segments become special tokens", () => {
  assert.deepEqual(tokens(special('<|im_start|>'), text('a'), special('<|im_end|>'), special('<tool_call>')), [
    IM_START,
    97,
    IM_END,
    TOOL_CALL,
  ]);
});

test('neighbouring plain segments are read as one text', () => {
  const read: string[] = [];
  const listening = {
    ...model,
    tokenize: (value: string, isSpecial: boolean) => (read.push(value), model.tokenize(value, isSpecial)),
  };
  tokenizeInput(listening, { type: 'segments', segments: [text('Hel'), text('lo'), special('<|im_end|>'), text('!')] });
  assert.deepEqual(read, ['Hello', '<|im_end|>', '!']);
});

test('a begin token is put in front once, and never before token ids', () => {
  const withBos = { ...model, shouldPrependBos: true, bosToken: IM_START };
  assert.deepEqual(tokenizeInput(withBos, { type: 'segments', segments: [text('a')] }), [IM_START, 97]);
  assert.deepEqual(tokenizeInput(withBos, { type: 'segments', segments: [special('<|im_start|>')] }), [IM_START]);
  assert.deepEqual(tokenizeInput(withBos, { type: 'tokens', tokens: [97] }), [97]);
});

test('text alone is told and counted without the token that begins a prompt', () => {
  const withBos = { ...model, shouldPrependBos: true, bosToken: IM_START };
  const told = (...segments: { text: string; special: boolean }[]) =>
    tokensToTell(withBos, { type: 'segments', segments });
  assert.deepEqual(told(text('ab')), [97, 98]);
  assert.deepEqual(told(text('a'), special('<|im_end|>')), [IM_START, 97, IM_END]);
  assert.deepEqual(tokensToTell(withBos, { type: 'tokens', tokens: [97] }), [97]);
});

test('a token id that is none is refused with the range', () => {
  for (const wrong of [-1, 259, 1.5, Number.NaN])
    assert.throws(() => tokenizeInput(model, { type: 'tokens', tokens: [1, wrong] }), {
      name: 'RangeError',
      message: new RegExp(`0 to 258.*${wrong}`),
    });
});

test('text that cannot fit is refused by its first part', () => {
  let read = 0;
  const counting = {
    ...model,
    tokenize: (value: string, isSpecial: boolean) => {
      read += value.length;
      return model.tokenize(value, isSpecial);
    },
  };
  const megabytes = 'a'.repeat(4_000_000);
  assert.throws(
    () => tokenizeInput(counting, { type: 'segments', segments: [text(megabytes)] }),
    (error) =>
      error instanceof TooManyTokensError && /^Range of input length should be \[1, \d+\] /.test(error.message),
  );
  assert.ok(read < 200_000, `${read} characters were read`);
});

test('a cache mark changes no token, and lies where the last token ends that is in the marked text as a whole', () => {
  const pairs = {
    ...model,
    // Two characters a token, as far as one text goes.
    tokenize: (value: string, isSpecial: boolean) =>
      isSpecial
        ? model.tokenize(value, true)
        : Array.from({ length: Math.ceil(value.length / 2) }, (_, i) => 1_000 + value.length - 2 * i),
    tokenBytes: (token: number) => new Uint8Array(token < 1_000 ? 1 : Math.min(2, token - 1_000)),
  };
  const marked = (value: string) => ({ ...text(value), cacheMark: true as const });
  const segments = [
    { ...special('<|im_start|>'), cacheMark: true as const },
    marked('abc'),
    marked('d'),
    text('ef'),
    special('<|im_end|>'),
    marked('xyz'),
  ];
  const { tokens, marks } = tokenizeMarked(pairs, { type: 'segments', segments });
  const without = segments.map(({ text: value, special: isSpecial }) => ({ text: value, special: isSpecial }));
  assert.deepEqual(tokens, tokenizeInput(pairs, { type: 'segments', segments: without }));
  assert.deepEqual(marks, [1, 2, 3, 7]);
  const withBos = { ...pairs, shouldPrependBos: true, bosToken: IM_END };
  assert.deepEqual(tokenizeMarked(withBos, { type: 'segments', segments }).marks, [2, 3, 4, 8]);
});
