import type { PromptSegment } from '../../core/prompt.ts';
import type { NativeModel } from './native-model.ts';
import type { TokenInput } from './protocol.ts';

type Tokenizer = Pick<NativeModel, 'tokenize' | 'markupInText' | 'shouldPrependBos' | 'bosToken' | 'loaded'>;

/**
 * Tokens of an input. Only `special` segments may become special tokens; neighbouring plain segments are read as one
 * text, so that words are cut as they would be in the whole prompt.
 * @throws RangeError for a token id outside the vocabulary.
 */
export function tokenizeInput(model: Tokenizer, input: TokenInput): number[] {
  if (input.type === 'tokens') {
    const wrong = input.tokens.find(
      (token) => !Number.isInteger(token) || token < 0 || token >= model.loaded.vocabularySize,
    );
    if (wrong !== undefined)
      throw new RangeError(`token ids must be from 0 to ${model.loaded.vocabularySize - 1}, got ${wrong}`);
    return [...input.tokens];
  }
  const tokens = input.segments.length === 0 ? [] : tokenizeSegments(model, input.segments);
  if (model.shouldPrependBos && tokens[0] !== model.bosToken) tokens.unshift(model.bosToken);
  return tokens;
}

export function tokenizeSegments(model: Tokenizer, segments: readonly PromptSegment[]): number[] {
  const tokens: number[] = [];
  let plain = '';
  const flush = (): void => {
    for (const piece of breakMarkup(plain, model.markupInText))
      for (const token of model.tokenize(piece, false)) tokens.push(token);
    plain = '';
  };
  for (const { text, special } of segments) {
    if (!special) {
      plain += text;
      continue;
    }
    flush();
    for (const token of model.tokenize(text, true)) tokens.push(token);
  }
  flush();
  return tokens;
}

/** Cuts the text inside each piece of markup, so that the tokenizer does not see it as one. */
function breakMarkup(text: string, markup: readonly string[]): string[] {
  if (text === '') return [];
  const cuts: number[] = [];
  for (const mark of markup)
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) cuts.push(at + 1);
  if (cuts.length === 0) return [text];
  const pieces: string[] = [];
  let from = 0;
  for (const cut of cuts.toSorted((a, b) => a - b)) {
    if (cut > from) pieces.push(text.slice(from, cut));
    from = cut;
  }
  pieces.push(text.slice(from));
  return pieces.filter((piece) => piece !== '');
}
