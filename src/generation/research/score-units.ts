import { sumOf, wordsOf } from './page-fit.ts';
import type { FetchedSite, PageFit } from './page-fit.ts';
import type { PageUnit } from './page-units.ts';
import type { Wanted } from './wanted.ts';

/** What may become a note. */
export interface Candidate extends PageUnit {
  readonly site: FetchedSite;
  /** Of the sites, from 0. */
  readonly rank: number;
  readonly fit: PageFit;
  readonly words: ReadonlySet<string>;
}

/** Ours: what a page's own title, its place among the results, and talk to the reader count. */
const TITLE_SHARE = 0.35;
const RANK_SHARE = 0.15;
const TALK_SHARE = 0.12;

/** Ours: a sentence without any wanted word is taken where its page's title has so much of them. */
const TITLE_ENOUGH = 0.3;

/** Ours: of the wanted words, what a sentence of a page near the topic has at least. */
const ASIDE_OWN_MIN = 0.12;

const LEAST = 0.001;

/** By the wanted words that it has; those that few of the sentences have count more. 0: it has nothing of it. */
export function scoreBy(wanted: Wanted['words'], candidates: readonly Candidate[]): (unit: Candidate) => number {
  const having = new Map<string, number>();
  for (const { words } of candidates)
    for (const word of words) if (wanted.has(word)) having.set(word, (having.get(word) ?? 0) + 1);
  const weights = [...wanted].flatMap(([word, weight]): (readonly [string, number])[] => {
    const count = having.get(word) ?? 0;
    // What no source has tells none of them apart.
    return count === 0 ? [] : [[word, weight * Math.log(1 + candidates.length / count)]];
  });
  const total = sumOf(weights.map(([, weight]) => weight));
  const shareOf = (words: ReadonlySet<string>): number =>
    total === 0 ? 0 : sumOf(weights.map(([word, weight]) => (words.has(word) ? weight : 0))) / total;
  const titles = new Map<FetchedSite, number>();
  const titleShare = (site: FetchedSite): number => {
    const share = titles.get(site) ?? shareOf(wordsOf(site.title));
    titles.set(site, share);
    return share;
  };
  return ({ words, site, rank, fit, sentences }) => {
    const own = shareOf(words);
    const title = titleShare(site);
    const isOff = fit.isAside ? own < ASIDE_OWN_MIN : own === 0 && title < TITLE_ENOUGH;
    if (isOff) return 0;
    const talk = TALK.test(sentences[0] ?? '') ? TALK_SHARE : 0;
    const points = own + TITLE_SHARE * title + RANK_SHARE / (1 + rank) - talk;
    return Math.max(LEAST, ((1 + fit.share) / 2) * points);
  };
}

/** To a reader, or of a writer. */
const TALK = /\b(?:you|your|we|our|us|i|my|i'm|we're|you're)\b/i;
