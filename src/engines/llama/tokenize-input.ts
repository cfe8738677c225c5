import type { PromptSegment } from '../../core/prompt.ts';
import { breakMarkup } from '../break-markup.ts';
import type { NativeModel } from './native-model.ts';
import type { TokenInput } from './protocol.ts';

type Tokenizer = Pick<
  NativeModel,
  'tokenize' | 'tokenBytes' | 'markupInText' | 'shouldPrependBos' | 'bosToken' | 'loaded'
>;

/** More text than any context takes; found without reading all of it. */
export class TooManyTokensError extends RangeError {
  /** The input has more tokens than this. */
  readonly tokens: number;

  constructor(tokens: number) {
    // wire.md 1.7 has the first sentence.
    super(`Range of input length should be [1, ${tokens}] (the input has more than ${tokens} tokens)`);
    this.tokens = tokens;
  }
}

/** Characters that are tokenized at a time to see whether a text can fit: about 50 ms. */
const PIECE_CHARS = 65_536;

/** Tokens by which a piece may exceed what it adds to the whole, because a word was cut. Ours; one word is far less. */
const PIECE_SLACK_TOKENS = 64;

/**
 * Tokens of an input. Only `special` segments may become special tokens; neighbouring plain segments are read as one
 * text, so that words are cut as they would be in the whole prompt.
 * @throws RangeError for a token id outside the vocabulary; TooManyTokensError for text far longer than the context.
 */
export function tokenizeInput(model: Tokenizer, input: TokenInput): number[] {
  return tokenizeMarked(model, input).tokens;
}

/**
 * The tokens of an input to be told or counted. Text alone, without a special segment, is no prompt: the token that begins
 * one is not among them.
 * @throws as `tokenizeInput`.
 */
export function tokensToTell(model: Tokenizer, input: TokenInput): number[] {
  const isText = input.type === 'segments' && input.segments.every(({ special }) => !special);
  return tokenizeInput(isText ? { ...model, shouldPrependBos: false } : model, input);
}

export interface MarkedTokens {
  readonly tokens: number[];
  /** For each of the input's cache marks, how many leading tokens lie before it as a whole. */
  readonly marks: readonly number[];
}

/** The same; a mark changes no token. */
export function tokenizeMarked(model: Tokenizer, input: TokenInput): MarkedTokens {
  if (input.type === 'segments') checkSize(model, input.segments);
  if (input.type === 'tokens') {
    const wrong = input.tokens.find(
      (token) => !Number.isInteger(token) || token < 0 || token >= model.loaded.vocabularySize,
    );
    if (wrong !== undefined)
      throw new RangeError(`token ids must be from 0 to ${model.loaded.vocabularySize - 1}, got ${wrong}`);
    return { tokens: [...input.tokens], marks: [] };
  }
  const marks: number[] = [];
  const tokens =
    input.segments.length === 0 ? [] : tokenizeSegments(model, input.segments, (position) => marks.push(position));
  if (!model.shouldPrependBos || tokens[0] === model.bosToken) return { tokens, marks };
  return { tokens: [model.bosToken, ...tokens], marks: marks.map((position) => position + 1) };
}

/** Tokenizing stops everything else in this process: megabytes that cannot fit are refused by their first part. */
function checkSize(model: Tokenizer, segments: readonly PromptSegment[]): void {
  const text = segments.map((segment) => (segment.special ? '' : segment.text)).join('');
  if (text.length <= PIECE_CHARS) return;
  let tokens = 0;
  for (let from = 0; from < text.length; from += PIECE_CHARS) {
    tokens += Math.max(0, model.tokenize(text.slice(from, from + PIECE_CHARS), false).length - PIECE_SLACK_TOKENS);
    if (tokens > model.loaded.contextTokens) throw new TooManyTokensError(model.loaded.contextTokens);
  }
}

export function tokenizeSegments(
  model: Tokenizer,
  segments: readonly PromptSegment[],
  onMark: (position: number) => void = () => undefined,
): number[] {
  const tokens: number[] = [];
  let plain = '';
  /** Characters of `plain` before each mark in it. */
  let marks: number[] = [];
  const flush = (): void => {
    const from = tokens.length;
    for (const piece of breakMarkup(plain, model.markupInText))
      for (const token of model.tokenize(piece, false)) tokens.push(token);
    for (const mark of marks)
      onMark(endWithin(model, tokens, { from, bytes: Buffer.byteLength(plain.slice(0, mark)) }));
    plain = '';
    marks = [];
  };
  for (const { text, special, cacheMark } of segments) {
    if (!special) {
      plain += text;
      if (cacheMark) marks.push(plain.length);
      continue;
    }
    flush();
    for (const token of model.tokenize(text, true)) tokens.push(token);
    if (cacheMark) onMark(tokens.length);
  }
  flush();
  return tokens;
}

/** Where the tokens end that stand for no more than so many bytes. A token across the border is left out. */
function endWithin(
  model: Tokenizer,
  tokens: readonly number[],
  { from, bytes }: { readonly from: number; readonly bytes: number },
): number {
  let left = bytes;
  let end = from;
  for (const token of tokens.slice(from)) {
    left -= model.tokenBytes(token).length;
    if (left < 0) break;
    end++;
  }
  return end;
}
