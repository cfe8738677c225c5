import { claimsOf, vocabularyOf } from '../citations/claims.ts';

/** Whether a sentence says with the words of its source what that does not say, as far as this can be seen without understanding. */
export type TurnedMeaning = (sentence: string, nearest: string) => boolean;

/**
 * Beyond the citation check, for what a model wrote: `55 buses with 75 kW` is not `75 buses with 55 kW`, `four` is not `three`,
 * and what is not so is not so.
 *
 * @param source The passage that the sentence is said to be from; `nearest` is the sentence of it that comes nearest.
 */
export function createTurnedMeaning(source: string): TurnedMeaning {
  let known: readonly Token[] | undefined;
  const tokens = (): readonly Token[] => (known ??= tokensOf(source));
  return (sentence, nearest) => {
    if (isNegated(sentence) !== isNegated(nearest)) return true;
    const own = tokensOf(sentence);
    return (
      own.some(
        ({ counts }) => counts !== undefined && !tokens().some(({ key }) => key === counts || isWord(key, counts)),
      ) || own.some((token, at) => token.isNumber && !isMeasuredAlike(token, own[at + 1], tokens()))
    );
  };
}

interface Token {
  /** A number in one notation, or the stem of a word. */
  readonly key: string;
  readonly isNumber: boolean;
  /** It can be what is counted or measured. */
  readonly isUnit: boolean;
  /** Of a word for a number: its digits. */
  readonly counts: string | undefined;
}

const TOKEN = /\p{Nd}+(?:[.,'’]\p{Nd}+)*|[%‰°]|\p{Script=Han}|(?!\p{Script=Han})\p{L}[\p{L}\p{M}]*/gu;

function tokensOf(text: string): readonly Token[] {
  const normal = text.normalize('NFKC').replaceAll(/per ?cent\b/gi, '%');
  return [...normal.matchAll(TOKEN)].map(({ 0: token, index }) => {
    const isNumber = /^\p{Nd}/u.test(token);
    const [key = token] = isNumber ? claimsOf(token).numbers : vocabularyOf(token).words;
    // Behind a sign or a comma another thing begins.
    const isJoined = /(?:\p{Nd}|\s)$/u.test(normal.slice(Math.max(0, index - 1), index));
    const isUnit = !isNumber && isJoined && !LINKING.test(token);
    return { key, isNumber, isUnit, counts: COUNTS.get(token.toLowerCase()) };
  });
}

const isWord = (key: string, counts: string): boolean => COUNTS.get(key) === counts;

/** What stands right behind a number in a sentence, its source has near that number too. */
function isMeasuredAlike({ key }: Token, unit: Token | undefined, source: readonly Token[]): boolean {
  if (unit?.isUnit !== true) return true;
  return source.some(
    (token, at) =>
      token.key === key &&
      source.slice(Math.max(0, at - UNIT_BEFORE_MAX), at + UNIT_BEHIND_MAX + 1).some((near) => near.key === unit.key),
  );
}

/** Ours, in words: `between 3 and 6 minutes` measures both. */
const UNIT_BEHIND_MAX = 4;
const UNIT_BEFORE_MAX = 2;

const LINKING =
  /^(?:a|an|the|of|to|in|on|at|by|for|from|and|or|but|with|as|is|are|was|were|be|been|it|its|this|that|which|who|when|where|while|after|before|until|since|than|per|has|have|had|did|does|do|[到至和与或、的了在是])$/iu;

/** `one` is rarely a number. */
const COUNTS: ReadonlyMap<string, string> = new Map(
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
