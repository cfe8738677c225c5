import { PROMPT_CHARS_PER_TOKEN_MAX } from '../../core/limits.ts';
import type { PromptSegment } from '../../core/prompt.ts';
import { breakMarkup } from '../break-markup.ts';
import type { NativeModel } from './native-model.ts';
import type { TokenInput } from './protocol.ts';
import { findTokenProblem } from '../find-request-problem.ts';

/** The part of a model that turns text into tokens. */
export type Tokenizer = Pick<
  NativeModel,
  'tokenize' | 'tokenBytes' | 'markupInText' | 'shouldPrependBos' | 'bosToken' | 'loaded'
>;

/** Thrown for text that is longer than the context; detected without tokenizing all of it. */
export class TooManyTokensError extends RangeError {
  /** The input has more tokens than this. */
  readonly tokens: number;

  constructor(tokens: number) {
    // The first sentence is prescribed (docs/wire/dashscope-native.md#errors).
    super(`Range of input length should be [1, ${tokens}] (the input has more than ${tokens} tokens)`);
    this.tokens = tokens;
  }
}

/** Characters that are tokenized at a time to see whether a text can fit; a piece takes about 50 ms. */
const PIECE_CHARS = 65_536;

/**
 * Tokens that a piece may have beyond its share of the whole, because it cuts a word. Chosen by Parley; a word has
 * fewer.
 */
const PIECE_SLACK_TOKENS = 64;

/**
 * Tokenizes an input. Only `special` segments may become special tokens. Adjacent plain segments are tokenized as one
 * text, so that words are split as in the whole prompt.
 * @throws RangeError for a token id outside the vocabulary; TooManyTokensError for text far longer than the context.
 */
export function tokenizeInput(model: Tokenizer, input: TokenInput): number[] {
  return tokenizeMarked(model, input).tokens;
}

/**
 * Returns the tokenizer for an input of the tokenize and count endpoints. Text without a special segment is not a prompt,
 * so no start token is added.
 */
export function selectCallerTokenizer(model: Tokenizer, input: TokenInput): Tokenizer {
  const isText = input.type === 'segments' && input.segments.every(({ special }) => !special);
  return isText ? { ...model, shouldPrependBos: false } : model;
}

export interface MarkedTokens {
  readonly tokens: number[];
  /** For each cache mark of the input, the number of leading tokens that end before the mark. */
  readonly marks: readonly number[];
}

/** Tokenizes an input as `tokenizeInput` does, and locates its cache marks, which change no token. */
export function tokenizeMarked(model: Tokenizer, input: TokenInput): MarkedTokens {
  if (input.type === 'segments') for (const check of createLengthChecks(model, input.segments)) check();
  return tokenizeChecked(model, input);
}

/** Tokenizes an input whose length was checked. */
export function tokenizeChecked(model: Tokenizer, input: TokenInput): MarkedTokens {
  if (input.type === 'tokens') {
    const problem = findTokenProblem(input.tokens, model.loaded.vocabularySize);
    if (problem !== undefined) throw new RangeError(problem);
    return { tokens: [...input.tokens], marks: [] };
  }
  const marks: number[] = [];
  const tokens =
    input.segments.length === 0 ? [] : tokenizeSegments(model, input.segments, (position) => marks.push(position));
  if (!model.shouldPrependBos || tokens[0] === model.bosToken) return { tokens, marks };
  return { tokens: [model.bosToken, ...tokens], marks: marks.map((position) => position + 1) };
}

/**
 * Creates the checks of a text that may not fit: each tokenizes one part of it. Tokenizing blocks the process, and texts
 * may have megabytes.
 * @throws TooManyTokensError if the number of characters alone is too large. The checks throw the same.
 */
export function createLengthChecks(model: Tokenizer, segments: readonly PromptSegment[]): readonly (() => void)[] {
  const text = segments.map((segment) => (segment.special ? '' : segment.text)).join('');
  const { contextTokens } = model.loaded;
  if (text.length <= PIECE_CHARS) return [];
  if (text.length > contextTokens * PROMPT_CHARS_PER_TOKEN_MAX) throw new TooManyTokensError(contextTokens);
  let tokens = 0;
  return Array.from({ length: Math.ceil(text.length / PIECE_CHARS) }, (_, piece) => () => {
    const pieceText = text.slice(piece * PIECE_CHARS, (piece + 1) * PIECE_CHARS);
    tokens += Math.max(0, model.tokenize(pieceText, false).length - PIECE_SLACK_TOKENS);
    if (tokens > contextTokens) throw new TooManyTokensError(contextTokens);
  });
}

export function tokenizeSegments(
  model: Tokenizer,
  segments: readonly PromptSegment[],
  onMark: (position: number) => void = () => undefined,
): number[] {
  const tokens: number[] = [];
  let plainText = '';
  /** Number of characters of `plainText` before each mark in it. */
  let marks: number[] = [];
  const flush = (): void => {
    const from = tokens.length;
    for (const piece of breakMarkup(plainText, model.markupInText))
      for (const token of model.tokenize(piece, false)) tokens.push(token);
    for (const mark of marks)
      onMark(findEndWithin(model, tokens, { from, bytes: Buffer.byteLength(plainText.slice(0, mark)) }));
    plainText = '';
    marks = [];
  };
  for (const { text, special, cacheMark } of segments) {
    if (!special) {
      plainText += text;
      if (cacheMark) marks.push(plainText.length);
      continue;
    }
    flush();
    for (const token of model.tokenize(text, true)) tokens.push(token);
    if (cacheMark) onMark(tokens.length);
  }
  flush();
  return tokens;
}

/** Returns the index after the last token that lies completely within the given number of bytes after `from`. */
function findEndWithin(
  model: Tokenizer,
  tokens: readonly number[],
  { from, bytes }: { readonly from: number; readonly bytes: number },
): number {
  let bytesLeft = bytes;
  let end = from;
  for (const token of tokens.slice(from)) {
    bytesLeft -= model.tokenBytes(token).length;
    if (bytesLeft < 0) break;
    end++;
  }
  return end;
}
