import { normalizeChineseNumbers } from './chinese-numbers.ts';
import { isCommonWord, normalizeNumber, readVocabulary, stemWord, TOKEN } from './claims.ts';
import { countNegations } from './negations.ts';
import { findOpposites } from './opposites.ts';

/** A part of a sentence between punctuation and conjunctions. */
export interface Clause {
  /** Stems of the words that carry meaning, numbers and pairs of signs, in text order. */
  readonly terms: readonly string[];
  /** Number of negating words. */
  readonly negations: number;
  /** The clause says that something must be so. */
  readonly isNecessary: boolean;
  /** The clause says that something may be so, and not that only this may be so. */
  readonly isPossible: boolean;
}

/** A sentence with the order of its words, for comparisons that a set of words cannot make. */
export interface ClaimTerms {
  readonly clauses: readonly Clause[];
  /** Terms of all clauses in text order. */
  readonly terms: readonly string[];
  readonly keys: ReadonlySet<string>;
}

export function readClaimTerms(sentence: string): ClaimTerms {
  const text = normalizeChineseNumbers(sentence.normalize('NFKC'));
  const clauses = mergeShortClauses(
    text.split(CLAUSE_END).map((part) => ({
      terms: readTerms(part),
      negations: countNegations(part),
      isNecessary: NECESSITY.test(part),
      isPossible: POSSIBILITY.test(part) && !/\bonly\b|\bnot\b/i.test(part),
    })),
  );
  const terms = clauses.flatMap((clause) => clause.terms);
  return { clauses, terms, keys: new Set(terms) };
}

/** Punctuation and conjunctions between clauses. A comma between digits is part of a number. */
const CLAUSE_END =
  /[;:()（）；：—–]|,(?!\d)|[，、](?!\p{N})|\b(?:but|while|whereas|although|though|unless|if|when|because|which|until|otherwise|and)\b/iu;

const NECESSITY = /\b(?:must|(?:has|have|had) to)\b/i;
const POSSIBILITY = /\b(?:may|can|might|could)\b/i;

function readTerms(text: string): readonly string[] {
  const terms: string[] = [];
  for (const { 0: token, index, groups } of text.matchAll(TOKEN)) {
    if (groups?.signs !== undefined) terms.push(...readVocabulary(token).words);
    else if (groups?.number !== undefined)
      terms.push(normalizeNumber(token, text.slice(Math.max(0, index - 2), index)));
    else if (isTerm(token)) terms.push(stemWord(token));
  }
  return terms;
}

/** Words with an opposite count although they are common, such as `before` and `first`. */
const isTerm = (token: string): boolean =>
  token.length > 1 && !EMPTY_WORD.test(token) && (!isCommonWord(token) || findOpposites(stemWord(token)).size > 0);

/** Verbs with which a text describes something; another one of them does not change what is said. */
const EMPTY_WORD = /^(?:indicat|mean|specif|denot|describ|represent|non$)/i;

/** Terms below which a clause is joined with the next one. */
const CLAUSE_TERMS_MIN = 2;

function mergeShortClauses(clauses: readonly Clause[]): readonly Clause[] {
  const merged: Clause[] = [];
  for (const clause of clauses) {
    const last = merged.at(-1);
    const isShort = clause.terms.length < CLAUSE_TERMS_MIN || (last && last.terms.length < CLAUSE_TERMS_MIN);
    if (last && isShort)
      merged[merged.length - 1] = {
        terms: [...last.terms, ...clause.terms],
        negations: last.negations + clause.negations,
        isNecessary: last.isNecessary || clause.isNecessary,
        isPossible: last.isPossible || clause.isPossible,
      };
    else merged.push(clause);
  }
  return merged;
}
