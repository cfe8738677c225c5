import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createFakeNativeModel, IM_END, IM_START, detokenize, TOOL_CALL } from './__fixtures__/fake-native-model.ts';
import type { TokenInput } from './protocol.ts';
import { TooManyTokensError, tokenizeInput, tokenizeMarked, selectCallerTokenizer } from './tokenize-input.ts';

const model = createFakeNativeModel();
const text = (value: string) => ({ text: value, special: false });
const special = (value: string) => ({ text: value, special: true });
const tokens = (...segments: { text: string; special: boolean }[]) =>
  tokenizeInput(model, { type: 'segments', segments });

test('tokenizeInput keeps text from callers as text, also markup known to the tokenizer, byte by byte', () => {
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
      assert.equal(detokenize(result), written.join(''));
    }),
  );
});

test('tokenizeInput turns special segments of the template into special tokens', () => {
  assert.deepEqual(tokens(special('<|im_start|>'), text('a'), special('<|im_end|>'), special('<tool_call>')), [
    IM_START,
    97,
    IM_END,
    TOOL_CALL,
  ]);
});

test('tokenizeInput reads adjacent plain segments as one text', () => {
  const texts: string[] = [];
  const recordingModel = {
    ...model,
    tokenize: (value: string, isSpecial: boolean) => (texts.push(value), model.tokenize(value, isSpecial)),
  };
  tokenizeInput(recordingModel, {
    type: 'segments',
    segments: [text('Hel'), text('lo'), special('<|im_end|>'), text('!')],
  });
  assert.deepEqual(texts, ['Hello', '<|im_end|>', '!']);
});

test('tokenizeInput adds the start token once, and never before token ids', () => {
  const withBos = { ...model, shouldPrependBos: true, bosToken: IM_START };
  assert.deepEqual(tokenizeInput(withBos, { type: 'segments', segments: [text('a')] }), [IM_START, 97]);
  assert.deepEqual(tokenizeInput(withBos, { type: 'segments', segments: [special('<|im_start|>')] }), [IM_START]);
  assert.deepEqual(tokenizeInput(withBos, { type: 'tokens', tokens: [97] }), [97]);
});

test('selectCallerTokenizer omits the start token for text alone', () => {
  const withBos = { ...model, shouldPrependBos: true, bosToken: IM_START };
  const tokenize = (input: TokenInput) => tokenizeInput(selectCallerTokenizer(withBos, input), input);
  const tokenizeWithBos = (...segments: { text: string; special: boolean }[]) =>
    tokenize({ type: 'segments', segments });
  assert.deepEqual(tokenizeWithBos(text('ab')), [97, 98]);
  assert.deepEqual(tokenizeWithBos(text('a'), special('<|im_end|>')), [IM_START, 97, IM_END]);
  assert.deepEqual(tokenize({ type: 'tokens', tokens: [97] }), [97]);
});

test('tokenizeInput rejects an invalid token id with the valid range', () => {
  for (const wrong of [-1, 259, 1.5, Number.NaN])
    assert.throws(() => tokenizeInput(model, { type: 'tokens', tokens: [1, wrong] }), {
      name: 'RangeError',
      message: new RegExp(`0 to 258.*${wrong}`),
    });
});

test('tokenizeInput rejects text that cannot fit after reading only a part of it', () => {
  let texts = 0;
  const countingModel = {
    ...model,
    tokenize: (value: string, isSpecial: boolean) => {
      texts += value.length;
      return model.tokenize(value, isSpecial);
    },
  };
  const megabytes = 'a'.repeat(4_000_000);
  assert.throws(
    () => tokenizeInput(countingModel, { type: 'segments', segments: [text(megabytes)] }),
    (error) =>
      error instanceof TooManyTokensError && /^Range of input length should be \[1, \d+\] /.test(error.message),
  );
  assert.ok(texts < 200_000, `${texts} characters were texts`);
});

test('tokenizeInput reads nothing of a text with too many characters for its context', () => {
  let calls = 0;
  const countingModel = {
    ...model,
    loaded: { ...model.loaded, contextTokens: 5_000 },
    // One token for 128 characters, as for blanks.
    tokenize: (value: string) => (calls++, Array.from({ length: Math.ceil(value.length / 128) }, () => 1)),
  };
  const tokenize = (chars: number) =>
    tokenizeInput(countingModel, { type: 'segments', segments: [text(' '.repeat(chars))] });
  assert.equal(tokenize(80_000).length, 625);
  calls = 0;
  assert.throws(() => tokenize(80_001), TooManyTokensError);
  assert.equal(calls, 0);
});

test('tokenizeMarked keeps all tokens, and places a mark after the last token completely within the marked text', () => {
  const pairs = {
    ...model,
    // Two characters are one token, within each text.
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
