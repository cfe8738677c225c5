import { SEARCH_FUSION_K } from '../limits.ts';
import type { SearchResult } from './clean-results.ts';
import { getUrlKey, areSimilar, createPassageSketch, getTitleKey } from './duplicate-keys.ts';

interface RankedResult {
  readonly result: SearchResult;
  /** Index of the provider's list, and position in it, both from 0. */
  readonly list: number;
  readonly rank: number;
}

/**
 * Merges ranked lists into one, best first, each page once, by reciprocal rank fusion, which needs no comparable
 * scores. A page and its duplicates get one score per list, by their best rank in it. Ties keep the order of ranks and
 * lists.
 */
export function fuseResults(lists: readonly (readonly SearchResult[])[]): readonly SearchResult[] {
  const rankedResults = lists.flatMap((results, list) =>
    results.map((result, place): RankedResult => ({ result, list, rank: place })),
  );
  return groupDuplicates(rankedResults)
    .map((doubles) => {
      const ranked = doubles.toSorted((a, b) => a.rank - b.rank || a.list - b.list);
      return {
        best: ranked[0],
        score: computeScore(ranked),
        result: mergeDuplicates(ranked.map(({ result }) => result)),
      };
    })
    .toSorted(
      (a, b) =>
        b.score - a.score || (a.best?.rank ?? 0) - (b.best?.rank ?? 0) || (a.best?.list ?? 0) - (b.best?.list ?? 0),
    )
    .flatMap(({ result }) => result ?? []);
}

function computeScore(ranked: readonly RankedResult[]): number {
  const bestRanks = new Map<number, number>();
  for (const { list, rank } of ranked) bestRanks.set(list, Math.min(rank, bestRanks.get(list) ?? rank));
  // Sorted, because a sum of fractions depends on the order of its terms.
  return [...bestRanks.values()]
    .toSorted((a, b) => a - b)
    .reduce((score, place) => score + 1 / (SEARCH_FUSION_K + place + 1), 0);
}

/** Groups results that are the same page (union-find: the order of comparisons does not matter). */
function groupDuplicates(all: readonly RankedResult[]): readonly (readonly RankedResult[])[] {
  const parents = all.map((_, index) => index);
  const findRoot = (index: number): number => {
    let root = index;
    for (let parent = parents[root] ?? root; parent !== root; parent = parents[root] ?? root) root = parent;
    return root;
  };
  const join = (a: number, b: number): void => {
    const [first, second] = [findRoot(a), findRoot(b)];
    parents[Math.max(first, second)] = Math.min(first, second);
  };
  const indexesByKey = new Map<string, number>();
  const sketches = all.map(({ result }) => createPassageSketch(result));
  for (const [index, { result }] of all.entries()) {
    const title = getTitleKey(result);
    for (const key of [`a ${getUrlKey(result.url)}`, ...(title === undefined ? [] : [`t ${title}`])]) {
      const previous = indexesByKey.get(key);
      if (previous === undefined) indexesByKey.set(key, index);
      else join(previous, index);
    }
    const sketch = sketches[index];
    if (!sketch) continue;
    for (const [other, known] of sketches.slice(0, index).entries()) {
      if (known && findRoot(other) !== findRoot(index) && areSimilar(sketch, known)) join(other, index);
    }
  }
  const groups = Map.groupBy(all.keys(), findRoot);
  return [...groups.values()].map((indexes) => indexes.flatMap((index) => all[index] ?? []));
}

/** Completes the best result by fields of its duplicates, but only of those with the same URL. */
function mergeDuplicates(doubles: readonly SearchResult[]): SearchResult | undefined {
  const [best] = doubles;
  if (!best) return undefined;
  const sameUrl = doubles.filter(({ url }) => getUrlKey(url) === getUrlKey(best.url));
  const dates = sameUrl.flatMap(({ publishedAt }) => publishedAt ?? []);
  const { isOwn: _, ...rest } = best;
  const { passage, isOwn } = sameUrl.reduce((longest, each) =>
    each.passage.length > longest.passage.length ? each : longest,
  );
  return {
    ...rest,
    siteName: sameUrl.find(({ siteName }) => siteName !== '')?.siteName ?? '',
    icon: sameUrl.find(({ icon }) => icon !== '')?.icon ?? '',
    ...(best.publishedAt === undefined && dates.length > 0 ? { publishedAt: Math.min(...dates) } : {}),
    passage,
    ...(isOwn ? { isOwn } : {}),
  };
}
