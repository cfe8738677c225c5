import { CITATION_SOURCE_CHARS_MAX, RESEARCH_QUERY_NOTES_MAX, RESEARCH_SITE_NOTES_MAX } from '../../core/limits.ts';
import { vocabularyOf } from '../citations/claims.ts';
import { createPassage } from '../citations/passage.ts';
import type { Note } from './kept.ts';
import type { SaidSentences } from './likeness.ts';
import { pageUnits } from './page-units.ts';
import type { PageUnit } from './page-units.ts';
import type { Wanted } from './wanted.ts';

/** What was fetched of a site: what the search said of it, or the page itself. */
export interface FetchedSite {
  readonly number: number;
  readonly title: string;
  readonly passage: string;
}

export interface TakenNotes {
  /** By site and place. */
  readonly notes: readonly Note[];
  readonly contexts: readonly string[];
}

interface Candidate extends PageUnit {
  readonly site: FetchedSite;
  /** Of the sites, from 0. */
  readonly rank: number;
  readonly words: ReadonlySet<string>;
}

/**
 * Sentences of the sites that fit best what is wanted, word by word. Each holds by the citation check against the whole of
 * what was fetched.
 *
 * @param sites Best first.
 * @param known What was noted before; it learns what is noted now.
 */
export function takeNotes(sites: readonly FetchedSite[], wanted: Wanted, known: SaidSentences): TakenNotes {
  const candidates = sites.flatMap((site, rank) =>
    pageUnits(site.passage).map((unit): Candidate => ({
      ...unit,
      site,
      rank,
      words: wordsOf(unit.sentences.join(' ')),
    })),
  );
  const fitting = fittingOf(sites, wanted.about);
  const score = scoreBy(wanted.words, candidates, { sites, fitting });
  const ranked = candidates
    .map((unit) => ({ unit, score: score(unit) }))
    .filter((each) => each.score > 0)
    .toSorted((a, b) => b.score - a.score || a.unit.rank - b.unit.rank || a.unit.at - b.unit.at);

  const contexts: string[] = [];
  const notes: Note[] = [];
  const counts = new Map<number, number>();
  const passages = new Map<number, ReturnType<typeof createPassage>>();
  for (const { unit, score: points } of ranked) {
    if (notes.length >= RESEARCH_QUERY_NOTES_MAX) break;
    const { number, passage } = unit.site;
    const count = counts.get(number) ?? 0;
    if (count >= RESEARCH_SITE_NOTES_MAX) continue;
    const source = passages.get(number) ?? createPassage(passage);
    passages.set(number, source);
    const sentences = firstOnes(unit.sentences, (each) => !known.hasLike(each) && source.check(each).holds);
    if (sentences.length === 0) continue;
    for (const sentence of sentences) known.add(sentence);
    counts.set(number, count + 1);
    if (!contexts.includes(unit.context)) contexts.push(unit.context);
    const context = contexts.indexOf(unit.context);
    const isAside = (fitting.get(number) ?? 0) < TOPIC_SHARE_MIN;
    notes.push({ site: number, at: unit.at, sentences, context, score: Number(points.toFixed(4)), isAside });
  }
  return { notes: notes.toSorted((a, b) => a.site - b.site || a.at - b.at), contexts };
}

function firstOnes<Item>(items: readonly Item[], isGood: (item: Item) => boolean): readonly Item[] {
  const end = items.findIndex((item) => !isGood(item));
  return end < 0 ? items : items.slice(0, end);
}

const wordsOf = (text: string): ReadonlySet<string> => {
  const { words, numbers } = vocabularyOf(text);
  return words.union(numbers);
};

/** Ours: what a page's own title, its place among the results, and talk to the reader count. */
const TITLE_SHARE = 0.35;
const RANK_SHARE = 0.15;
const TALK_SHARE = 0.12;

/** Ours: a sentence without any wanted word is taken where its page's title has so much of them. */
const TITLE_ENOUGH = 0.3;

/** By the wanted words that it has; those that few of the sentences have count more. 0: it has nothing of it. */
function scoreBy(
  wanted: Wanted['words'],
  candidates: readonly Candidate[],
  { sites, fitting }: { readonly sites: readonly FetchedSite[]; readonly fitting: ReadonlyMap<number, number> },
): (unit: Candidate) => number {
  const having = new Map<string, number>();
  for (const { words } of candidates)
    for (const word of words) if (wanted.has(word)) having.set(word, (having.get(word) ?? 0) + 1);
  const weights = new Map(
    [...wanted].flatMap(([word, weight]): [string, number][] => {
      const count = having.get(word) ?? 0;
      // What no source has tells none of them apart.
      return count === 0 ? [] : [[word, weight * Math.log(1 + candidates.length / count)]];
    }),
  );
  const total = sumOf(weights.values());
  const shareOf = (words: ReadonlySet<string>): number =>
    total === 0 ? 0 : sumOf([...weights].map(([word, weight]) => (words.has(word) ? weight : 0))) / total;
  const titles = new Map(sites.map(({ number, title }) => [number, shareOf(wordsOf(title))]));
  return ({ words, site, rank, sentences }) => {
    const fit = fitting.get(site.number) ?? 0;
    const own = shareOf(words);
    const title = titles.get(site.number) ?? 0;
    if (fit < ASIDE_SHARE_MIN || (own === 0 && title < TITLE_ENOUGH)) return 0;
    const talk = TALK.test(sentences[0] ?? '') ? TALK_SHARE : 0;
    const points = own + TITLE_SHARE * title + RANK_SHARE / (1 + rank) - talk;
    return Math.max(LEAST, ((1 + fit) / 2) * points);
  };
}

/** Ours: of what the best of the pages has of the topic's words or the query's, what another one has that is about it, or near it. */
const TOPIC_SHARE_MIN = 0.6;
const ASIDE_SHARE_MIN = 0.4;

const LEAST = 0.001;

/** By site: of what any page has most of the topic or of the query, its part. Words of few pages count more. */
function fittingOf(sites: readonly FetchedSite[], about: Wanted['about']): ReadonlyMap<number, number> {
  const pages = sites.map(({ title, passage }) => wordsOf(`${title}\n${passage.slice(0, CITATION_SOURCE_CHARS_MAX)}`));
  const shares = about.map((terms) => {
    const weightOf = new Map(
      [...terms].map((word) => {
        const count = pages.filter((words) => words.has(word)).length;
        return [word, count === 0 ? 0 : Math.log(1 + (2 * pages.length) / count)];
      }),
    );
    const weights = pages.map((words) => sumOf([...weightOf].map(([word, weight]) => (words.has(word) ? weight : 0))));
    const most = Math.max(...weights, 0);
    return weights.map((weight) => (most === 0 ? 0 : weight / most));
  });
  return new Map(sites.map(({ number }, at) => [number, Math.max(...shares.map((each) => each[at] ?? 0))]));
}

const sumOf = (numbers: Iterable<number>): number => [...numbers].reduce((sum, number) => sum + number, 0);

/** To a reader, or of a writer. */
const TALK = /\b(?:you|your|we|our|us|i|my|i'm|we're|you're)\b/i;
