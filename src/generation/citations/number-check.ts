import { normalizeChineseNumbers } from './chinese-numbers.ts';
import { normalizeNumber, readVocabulary } from './claims.ts';
import { NUMBER_WORDS } from './number-words.ts';

/**
 * Reports whether a sentence has a number that its source does not have, or has for another thing: `55 buses with 75 kW`
 * must not become `75 buses with 55 kW`, and `four` not `three`.
 */
export type NumberCheck = (sentence: string) => boolean;

/** Creates the check for one source: the sentences that support the sentence. */
export function createNumberCheck(source: string): NumberCheck {
  let cached: readonly Token[] | undefined;
  const getSourceTokens = (): readonly Token[] => (cached ??= tokenize(source));
  return (sentence) => {
    const sentenceTokens = tokenize(sentence);
    return sentenceTokens.some(
      (token, at) =>
        (token.numberValue !== undefined && !hasNumber(getSourceTokens(), token.numberValue)) ||
        (token.isNumber &&
          (!hasNumber(getSourceTokens(), token.key) || !hasSameUnit(token, sentenceTokens[at + 1], getSourceTokens()))),
    );
  };
}

const hasNumber = (tokens: readonly Token[], value: string): boolean =>
  tokens.some(({ key, numberValue }) => key === value || numberValue === value);

interface Token {
  /** The number in a normalized form, or the stem of the word. */
  readonly key: string;
  readonly isNumber: boolean;
  /** Can be a unit or a counted thing after a number. */
  readonly isUnit: boolean;
  /** Digits of a number word; undefined for other words. */
  readonly numberValue: string | undefined;
}

const TOKEN = /\p{Nd}+(?:[.,'’]\p{Nd}+)*|[%‰°]|\p{Script=Han}|(?!\p{Script=Han})\p{L}[\p{L}\p{M}]*/gu;

function tokenize(text: string): readonly Token[] {
  const normal = normalizeChineseNumbers(text.normalize('NFKC')).replaceAll(/per ?cent\b/gi, '%');
  return [...normal.matchAll(TOKEN)].map(({ 0: token, index }) => {
    const isNumber = /^\p{Nd}/u.test(token);
    const [key = token] = isNumber
      ? [normalizeNumber(token, normal.slice(Math.max(0, index - 2), index))]
      : readVocabulary(token).words;
    // Punctuation between a number and a word separates them.
    const isJoined = /(?:\p{Nd}|\s)$/u.test(normal.slice(Math.max(0, index - 1), index));
    const isUnit = !isNumber && isJoined && !FUNCTION_WORD.test(token);
    return { key, isNumber, isUnit, numberValue: NUMBER_WORDS.get(token.toLowerCase()) };
  });
}

/** Requires that the word after a number in the sentence also stands near that number in the source. */
function hasSameUnit({ key }: Token, unit: Token | undefined, source: readonly Token[]): boolean {
  if (unit?.isUnit !== true) return true;
  return source.some(
    (token, at) =>
      (token.key === key || token.numberValue === key) &&
      source.slice(Math.max(0, at - UNIT_BEFORE_MAX), at + UNIT_AFTER_MAX + 1).some((near) => near.key === unit.key),
  );
}

/** Distances in words: in `between 3 and 6 minutes`, the unit belongs to both numbers. */
const UNIT_AFTER_MAX = 4;
const UNIT_BEFORE_MAX = 2;

const FUNCTION_WORD =
  /^(?:a|an|the|of|to|in|on|at|by|for|from|and|or|but|with|as|is|are|was|were|be|been|it|its|this|that|which|who|when|where|while|after|before|until|since|than|per|has|have|had|did|does|do|[到至和与或、的了在是])$/iu;
