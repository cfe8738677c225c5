import type { ClaimTerms, Clause } from './claim-terms.ts';
import { findOpposites, isNegatedForm, isRelation } from './opposites.ts';

/** Ways in which a sentence says something else than its source although it uses the same words. */
export type Contradiction = 'negation' | 'necessity' | 'number' | 'order' | 'subject' | 'other-sentence';

/** The sentence of a source that is most like a claim, and what is known about the others. */
export interface Evidence {
  readonly terms: ClaimTerms;
  /** Whether a word belongs to the evidence although another sentence contains it: a heading, or what `it` stands for. */
  readonly isGiven: (term: string) => boolean;
  /** Whether a word stands in another sentence about the same things. */
  readonly isElsewhere: (term: string) => boolean;
}

/** Finds why a claim does not follow from its evidence; undefined when nothing speaks against it. */
export function findContradiction(claim: ClaimTerms, evidence: Evidence): Contradiction | undefined {
  for (const clause of claim.clauses) {
    const counterpart = findCounterpart(clause, evidence.terms);
    if (!counterpart) continue;
    if (isReversed(clause, counterpart)) return 'negation';
    if ((clause.isNecessary && counterpart.isPossible) || (clause.isPossible && counterpart.isNecessary))
      return 'necessity';
    if (hasNumberOfOtherClause(clause, counterpart)) return 'number';
  }
  if (claim.terms.some((_, at) => reversesRelation(claim.terms, at, evidence.terms.terms))) return 'order';
  if (replacesSubject(claim, evidence)) return 'subject';
  return claim.clauses.some((clause) => replacesTerm(clause, claim, evidence)) ? 'other-sentence' : undefined;
}

/** Similarity from which a clause of the evidence is about the same as a clause of the claim, 0 to 1. */
const COUNTERPART_SIMILARITY_MIN = 0.5;

/** Terms that two clauses share at least. */
const COMMON_TERMS_MIN = 2;

/** An opposite shows that two clauses are about the same, but less than the same word does. */
const OPPOSITE_CREDIT = 0.5;

/** Finds the clause of the evidence that is most like a clause of the claim. */
function findCounterpart(clause: Clause, evidence: ClaimTerms): Clause | undefined {
  let best: Clause | undefined;
  let most = COUNTERPART_SIMILARITY_MIN;
  const keys = [...new Set(clause.terms)];
  for (const candidate of evidence.clauses) {
    const evidenceTerms = new Set(candidate.terms);
    const same = keys.filter((key) => evidenceTerms.has(key)).length;
    const opposite = keys.filter(
      (key) => !evidenceTerms.has(key) && candidate.terms.some((term) => isOpposite(key, term)),
    ).length;
    if (same + opposite < Math.min(COMMON_TERMS_MIN, keys.length)) continue;
    const similarity = (2 * (same + OPPOSITE_CREDIT * opposite)) / (keys.length + evidenceTerms.size);
    if (similarity > most) [best, most] = [candidate, similarity];
  }
  return best;
}

const isOpposite = (one: string, other: string): boolean => findOpposites(one).has(other) || isNegatedForm(one, other);

/** Whether one of two clauses is negated and the other is not; a word with its opposite in the other one negates too. */
function isReversed(clause: Clause, counterpart: Clause): boolean {
  const count = (terms: readonly string[], term: string): number => terms.filter((each) => each === term).length;
  const isMore = (term: string, terms: readonly string[], others: readonly string[]): boolean =>
    !isRelation(term) && count(terms, term) > count(others, term);
  const counterpartTerms = [...new Set(counterpart.terms)].filter((term) =>
    isMore(term, counterpart.terms, clause.terms),
  );
  const reversals = [...new Set(clause.terms)].filter(
    (term) =>
      isMore(term, clause.terms, counterpart.terms) &&
      counterpartTerms.some((counterpartTerm) => isOpposite(term, counterpartTerm)),
  ).length;
  return (clause.negations + counterpart.negations + reversals) % 2 === 1;
}

const isNumber = (term: string): boolean => /^-?\p{Nd}/u.test(term);

/** Whether each clause has a number that the other one does not have. */
const hasNumberOfOtherClause = ({ terms }: Clause, { terms: evidenceTerms }: Clause): boolean =>
  terms.some((term) => isNumber(term) && !evidenceTerms.includes(term)) &&
  evidenceTerms.some((term) => isNumber(term) && !terms.includes(term));

/** Terms on each side that show what a word relates to. */
const SIDE_TERMS = 3;

const getSides = (terms: readonly string[], at: number): readonly [ReadonlySet<string>, ReadonlySet<string>] => [
  new Set(terms.slice(Math.max(0, at - SIDE_TERMS), at)),
  new Set(terms.slice(at + 1, at + 1 + SIDE_TERMS)),
];

const countCommon = (one: ReadonlySet<string>, other: ReadonlySet<string>): number => one.intersection(other).size;

/** Whether `A before B` of the evidence became `B before A` or `A after B`. */
function reversesRelation(terms: readonly string[], at: number, evidence: readonly string[]): boolean {
  const term = terms[at] ?? '';
  if (!isRelation(term)) return false;
  const [left, right] = getSides(terms, at);
  let straight = 0;
  let reversed = 0;
  for (const [evidenceAt, counterpartTerm] of evidence.entries()) {
    const isSame = counterpartTerm === term;
    if (!isSame && !findOpposites(term).has(counterpartTerm)) continue;
    const [evidenceLeft, evidenceRight] = getSides(evidence, evidenceAt);
    const parallel = countCommon(left, evidenceLeft) + countCommon(right, evidenceRight);
    const crossed = countCommon(left, evidenceRight) + countCommon(right, evidenceLeft);
    straight = Math.max(straight, isSame ? parallel : crossed);
    reversed = Math.max(reversed, isSame ? crossed : parallel);
  }
  return reversed > straight;
}

/**
 * Whether the words before the first common word are others in the claim than in that clause of the evidence: another
 * subject with the same predicate.
 */
function replacesSubject({ terms, keys }: ClaimTerms, { terms: evidence, isGiven }: Evidence): boolean {
  const end = terms.findIndex((term) => evidence.keys.has(term));
  if (end < 1 || terms.slice(0, end).some(isGiven)) return false;
  const common = terms[end] ?? '';
  return evidence.clauses
    .filter((clause) => clause.terms.includes(common))
    .every((clause) => {
      const evidenceTerms = clause.terms.slice(0, clause.terms.indexOf(common));
      return evidenceTerms.length > 0 && evidenceTerms.every((term) => !keys.has(term));
    });
}

/**
 * Whether a word comes from another sentence of the source, beside a word that always has another companion in the
 * evidence: `the updated version of the row` for `the originally found row`.
 */
function replacesTerm(
  { terms }: Clause,
  claim: ClaimTerms,
  { terms: evidence, isGiven, isElsewhere }: Evidence,
): boolean {
  const isShared = (term: string | undefined): boolean => term !== undefined && evidence.keys.has(term);
  const isForeign = (term: string | undefined): boolean => term !== undefined && !claim.keys.has(term);
  return terms.some((term, at) => {
    if (isShared(term) || isGiven(term) || !isElsewhere(term)) return false;
    const [before, after] = [terms[at - 1], terms.slice(at + 1).find(isShared)];
    return (
      (isShared(before) && hasCompanions(evidence, before, 1, isForeign)) ||
      (after !== undefined && hasCompanions(evidence, after, -1, isForeign))
    );
  });
}

/** Whether the term beside each occurrence of a term, on one side and in the same clause, fulfills a condition. */
function hasCompanions(
  { clauses }: ClaimTerms,
  term: string | undefined,
  side: 1 | -1,
  isWanted: (companion: string | undefined) => boolean,
): boolean {
  return clauses.every(({ terms }) => terms.every((each, at) => each !== term || isWanted(terms[at + side])));
}
