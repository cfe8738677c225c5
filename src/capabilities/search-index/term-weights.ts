import { INDEX_COMMON_TERM_SHARE, INDEX_COMMON_TERMS_PASSAGES_MIN } from './limits.ts';
import type { IndexSearchStore } from '../../store/index-search.ts';
import type { QuestionTerms } from './terms.ts';

/** The terms of a question, weighted by how rare they are in the index. */
export interface TermWeights {
  /** Number of passages in the index. */
  readonly passages: number;
  /** Terms that are looked up in the index. */
  readonly lookupTerms: readonly string[];
  /** Returns which share of the weights of the question's words the terms cover, from 0 to 1. */
  computeCoverage(terms: ReadonlySet<string>): number;
}

/** Weighs terms by the passages of the index that have them. Compounds that the index does not have are dropped. */
export async function weighTerms(
  { words, compounds }: QuestionTerms,
  store: Pick<IndexSearchStore, 'countTerms'>,
): Promise<TermWeights> {
  const terms = [...new Set([...words, ...compounds.keys()])];
  const { passages, passagesByTerm } = await store.countTerms(terms);
  const counts = new Map(terms.map((term, at) => [term, passagesByTerm[at] ?? 0]));
  const getCount = (term: string): number => counts.get(term) ?? 0;
  const weights = new Map(words.map((term) => [term, computeRarity(getCount(term), passages)]));
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
  const existing = [...compounds].filter(([term]) => getCount(term) > 0);
  return {
    passages,
    lookupTerms: [
      ...new Set([...selectRareTerms(words, getCount, passages), ...existing.map(([compound]) => compound)]),
    ],
    computeCoverage(found) {
      const parts = existing.flatMap(([compound, ofCompound]) => (found.has(compound) ? ofCompound : []));
      const covered = found.union(new Set(parts));
      let sum = 0;
      for (const [term, weight] of weights) if (covered.has(term)) sum += weight;
      return total > 0 ? sum / total : 0;
    },
  };
}

/** The rarer a term, the higher its weight. */
const computeRarity = (count: number, passages: number): number =>
  1 + Math.log(1 + (passages - count + 0.5) / (count + 0.5));

/**
 * Drops terms that occur in most passages if rarer ones exist: they do not affect the ranking but would match every
 * passage of a large index.
 */
function selectRareTerms(
  terms: readonly string[],
  getCount: (term: string) => number,
  passages: number,
): readonly string[] {
  if (passages < INDEX_COMMON_TERMS_PASSAGES_MIN) return terms;
  const rare = terms.filter((term) => getCount(term) > 0 && getCount(term) <= passages * INDEX_COMMON_TERM_SHARE);
  return rare.length > 0 ? rare : terms;
}
