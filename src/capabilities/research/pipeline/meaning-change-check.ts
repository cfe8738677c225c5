import { readClaims, readVocabulary } from '../../../generation/citations/claims.ts';

/**
 * Reports whether a sentence uses the words of its source but states something else. Compares numbers, units and
 * negation only.
 */
export type MeaningChangeCheck = (sentence: string, nearest: string) => boolean;

/**
 * Creates the check that complements the citation check for text of a model: `55 buses with 75 kW` must not become
 * `75 buses with 55 kW`, `four` not `three`, and a negation must stay.
 *
 * @param source Passage that supports the sentence. `nearest` is its most similar sentence.
 */
export function createMeaningChangeCheck(source: string): MeaningChangeCheck {
  let cached: readonly Token[] | undefined;
  const getSourceTokens = (): readonly Token[] => (cached ??= tokenize(source));
  return (sentence, nearest) => {
    if (isNegated(sentence) !== isNegated(nearest)) return true;
    const sentenceTokens = tokenize(sentence);
    return (
      sentenceTokens.some(
        ({ numberValue }) =>
          numberValue !== undefined &&
          !getSourceTokens().some(({ key }) => key === numberValue || isNumberWord(key, numberValue)),
      ) ||
      sentenceTokens.some(
        (token, at) => token.isNumber && !hasSameUnit(token, sentenceTokens[at + 1], getSourceTokens()),
      )
    );
  };
}

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
  const normal = text.normalize('NFKC').replaceAll(/per ?cent\b/gi, '%');
  return [...normal.matchAll(TOKEN)].map(({ 0: token, index }) => {
    const isNumber = /^\p{Nd}/u.test(token);
    const [key = token] = isNumber ? readClaims(token).numbers : readVocabulary(token).words;
    // Punctuation between a number and a word separates them.
    const isJoined = /(?:\p{Nd}|\s)$/u.test(normal.slice(Math.max(0, index - 1), index));
    const isUnit = !isNumber && isJoined && !FUNCTION_WORD.test(token);
    return { key, isNumber, isUnit, numberValue: NUMBER_WORDS.get(token.toLowerCase()) };
  });
}

const isNumberWord = (key: string, numberValue: string): boolean => NUMBER_WORDS.get(key) === numberValue;

/** Requires that the word after a number in the sentence also stands near that number in the source. */
function hasSameUnit({ key }: Token, unit: Token | undefined, source: readonly Token[]): boolean {
  if (unit?.isUnit !== true) return true;
  return source.some(
    (token, at) =>
      token.key === key &&
      source.slice(Math.max(0, at - UNIT_BEFORE_MAX), at + UNIT_AFTER_MAX + 1).some((near) => near.key === unit.key),
  );
}

/** Distances in words: in `between 3 and 6 minutes`, the unit belongs to both numbers. */
const UNIT_AFTER_MAX = 4;
const UNIT_BEFORE_MAX = 2;

const FUNCTION_WORD =
  /^(?:a|an|the|of|to|in|on|at|by|for|from|and|or|but|with|as|is|are|was|were|be|been|it|its|this|that|which|who|when|where|while|after|before|until|since|than|per|has|have|had|did|does|do|[到至和与或、的了在是])$/iu;

/** Leaves out `one`, which is rarely a number. */
const NUMBER_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    two: '2',
    three: '3',
    four: '4',
    five: '5',
    six: '6',
    seven: '7',
    eight: '8',
    nine: '9',
    ten: '10',
    eleven: '11',
    twelve: '12',
    thirteen: '13',
    fourteen: '14',
    fifteen: '15',
    sixteen: '16',
    seventeen: '17',
    eighteen: '18',
    nineteen: '19',
    twenty: '20',
    thirty: '30',
    forty: '40',
    fifty: '50',
    sixty: '60',
    seventy: '70',
    eighty: '80',
    ninety: '90',
    hundred: '100',
    thousand: '1000',
    million: '1000000',
    billion: '1000000000',
    trillion: '1000000000000',
  }),
);

const isNegated = (text: string): boolean => NEGATION.test(text.replaceAll(/\bnot (?:only|just|merely)\b/gi, ''));

const NEGATION =
  /\b(?:not|no|never|none|without|cannot|neither|nor)\b|n['’]t\b|不(?![过仅断同但久少只])|没有|尚未|从未|并未|并非|无法|无需/i;
