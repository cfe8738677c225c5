import { SEARCH_FUSION_K } from '../../core/limits.ts';
import type { SearchResult } from './clean-found.ts';
import { addressKey, isAlike, sketchOf, titleKey } from './same-page.ts';

interface Ranked {
  readonly result: SearchResult;
  /** Which list, and which place in it, from 0. */
  readonly list: number;
  readonly place: number;
}

/**
 * One list of several, best first, each page once: reciprocal rank fusion, so that it does not matter how a provider scores.
 * A page has of each list what the best place of it or of one of its doubles is worth. What is equal goes by the order of the
 * lists.
 */
export function fuse(lists: readonly (readonly SearchResult[])[]): readonly SearchResult[] {
  const all = lists.flatMap((results, list) => results.map((result, place): Ranked => ({ result, list, place })));
  return pagesOf(all)
    .map((doubles) => {
      const ranked = doubles.toSorted((a, b) => a.place - b.place || a.list - b.list);
      return { best: ranked[0], score: scoreOf(ranked), result: joined(ranked.map(({ result }) => result)) };
    })
    .toSorted(
      (a, b) =>
        b.score - a.score || (a.best?.place ?? 0) - (b.best?.place ?? 0) || (a.best?.list ?? 0) - (b.best?.list ?? 0),
    )
    .flatMap(({ result }) => result ?? []);
}

function scoreOf(ranked: readonly Ranked[]): number {
  const bestOf = new Map<number, number>();
  for (const { list, place } of ranked) bestOf.set(list, Math.min(place, bestOf.get(list) ?? place));
  // Sorted: sums of fractions differ with the order they are added in.
  return [...bestOf.values()]
    .toSorted((a, b) => a - b)
    .reduce((score, place) => score + 1 / (SEARCH_FUSION_K + place + 1), 0);
}

/** Groups of results that are one page. Who is found to be whose double first makes no difference. */
function pagesOf(all: readonly Ranked[]): readonly (readonly Ranked[])[] {
  const parents = all.map((_, index) => index);
  const rootOf = (index: number): number => {
    let root = index;
    for (let parent = parents[root] ?? root; parent !== root; parent = parents[root] ?? root) root = parent;
    return root;
  };
  const join = (a: number, b: number): void => {
    const [first, second] = [rootOf(a), rootOf(b)];
    parents[Math.max(first, second)] = Math.min(first, second);
  };
  const seen = new Map<string, number>();
  const sketches = all.map(({ result }) => sketchOf(result));
  for (const [index, { result }] of all.entries()) {
    const title = titleKey(result);
    for (const key of [`a ${addressKey(result.url)}`, ...(title === undefined ? [] : [`t ${title}`])]) {
      const known = seen.get(key);
      if (known === undefined) seen.set(key, index);
      else join(known, index);
    }
    const sketch = sketches[index];
    if (!sketch) continue;
    for (const [other, known] of sketches.slice(0, index).entries()) {
      if (known && rootOf(other) !== rootOf(index) && isAlike(sketch, known)) join(other, index);
    }
  }
  const groups = Map.groupBy(all.keys(), rootOf);
  return [...groups.values()].map((indexes) => indexes.flatMap((index) => all[index] ?? []));
}

/** The best of them, with what the others know besides; only what was found at the same address may say more of it. */
function joined(doubles: readonly SearchResult[]): SearchResult | undefined {
  const [best] = doubles;
  if (!best) return undefined;
  const same = doubles.filter(({ url }) => addressKey(url) === addressKey(best.url));
  const dates = same.flatMap(({ publishedAt }) => publishedAt ?? []);
  const { isOwn: _, ...known } = best;
  const { passage, isOwn } = same.reduce((longest, each) =>
    each.passage.length > longest.passage.length ? each : longest,
  );
  return {
    ...known,
    siteName: same.find(({ siteName }) => siteName !== '')?.siteName ?? '',
    icon: same.find(({ icon }) => icon !== '')?.icon ?? '',
    ...(best.publishedAt === undefined && dates.length > 0 ? { publishedAt: Math.min(...dates) } : {}),
    passage,
    ...(isOwn ? { isOwn } : {}),
  };
}
