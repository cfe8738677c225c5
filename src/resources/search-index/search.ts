import {
  INDEX_CANDIDATES,
  INDEX_COMMON_TERM_PART,
  INDEX_COMMON_TERMS_PASSAGES_MIN,
  INDEX_COVERAGE_MIN,
  INDEX_QUESTION_CHARS_MAX,
  INDEX_QUESTION_TERMS_MAX,
} from '../../core/limits.ts';
import type { Found, SearchQuery } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { IndexedPassage, IndexMatch, IndexScope } from '../../store/index-search.ts';
import type { Store } from '../../store/store.ts';
import { type Near, nearestDocuments } from './nearest.ts';
import type { EmbeddedTexts, EmbedTexts } from './search-index.ts';
import { questionTermsOf, termsOf } from './terms.ts';

export interface SearchIndexNeeds {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  /** Absent: by words alone. */
  readonly embed?: EmbedTexts | undefined;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Looks for a question in the local index: by words, and by vectors where there are some. Of a document it tells the one
 * passage that fits best. What has next to nothing of the question is no answer, so it may find nothing.
 *
 * @throws the signal's reason; ServiceError `internal` where the database fails.
 */
export type SearchIndex = (query: SearchQuery, signal: AbortSignal) => Promise<Found>;

const DAY_MS = 86_400_000;

/** Of reciprocal rank fusion: how little the first places are ahead of those behind them. */
const RANK_OFFSET = 60;

export function createSearchIndex({ store, clock, embed, log }: SearchIndexNeeds): SearchIndex {
  const embedded = async (text: string, signal: AbortSignal): Promise<EmbeddedTexts | undefined> => {
    try {
      return await embed?.([text], signal);
    } catch (error) {
      signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      log.warn('the local index is searched by words alone: no vector could be made of a question', { reason });
      return undefined;
    }
  };

  const look = async (question: Question, scope: IndexScope, { answersMax, signal }: LookWish) => {
    const matches = await store.indexSearch.match(question.rareTerms, scope, INDEX_CANDIDATES);
    signal.throwIfAborted();
    const near = question.vector ? await nearestDocuments(question.vector, scope, { store, signal }) : [];
    const candidates = fuse(matches, near);
    const passages = await store.indexSearch.read(
      candidates.map(({ passage }) => passage),
      scope,
    );
    signal.throwIfAborted();
    return firstAnswers(candidates, { question, passages, answersMax });
  };

  return async (query, signal) => {
    signal.throwIfAborted();
    const text = query.text.slice(0, INDEX_QUESTION_CHARS_MAX).toWellFormed();
    const terms = questionTermsOf(text).slice(0, INDEX_QUESTION_TERMS_MAX);
    if (terms.length === 0) return { results: [], findings: [] };
    const { passages, having } = await store.indexSearch.counts(terms);
    const weights = having.map((count) => 1 + Math.log(1 + (passages - count + 0.5) / (count + 0.5)));
    const rareTerms = rareOf(terms, passages, having);
    const question: Question = {
      terms,
      rareTerms,
      weights,
      vector: passages > 0 ? await embedded(text, signal) : undefined,
    };
    const wish = { answersMax: query.resultsMax, signal };
    const results = await look(question, scopeOf(query, 'plain', clock.now()), wish);
    const findings = query.withDomains ? await look(question, scopeOf(query, 'domains', clock.now()), wish) : [];
    return {
      results: results.map(sourceOf),
      findings: findings.map(({ domain = '', title, text: said }) => ({ domain, text: `${title}\n${said}` })),
    };
  };
}

interface LookWish {
  readonly answersMax: number;
  readonly signal: AbortSignal;
}

interface Question {
  readonly terms: readonly string[];
  /** Those that are looked for. */
  readonly rareTerms: readonly string[];
  /** How much each tells: the rarer, the more. */
  readonly weights: readonly number[];
  readonly vector: EmbeddedTexts | undefined;
}

/**
 * Without those that stand nearly everywhere, where there are others: they change no ranking, and would bring every passage
 * of a large index.
 */
function rareOf(terms: readonly string[], passages: number, having: readonly number[]): readonly string[] {
  if (passages < INDEX_COMMON_TERMS_PASSAGES_MIN) return terms;
  const rare = terms.filter((_, at) => {
    const count = having[at] ?? 0;
    return count > 0 && count <= passages * INDEX_COMMON_TERM_PART;
  });
  return rare.length > 0 ? rare : terms;
}

interface Candidate {
  readonly passage: number;
  readonly isNear: boolean;
}

/** Two rankings as one, by the places that a document has in them. */
function fuse(matches: readonly IndexMatch[], near: readonly Near[]): readonly Candidate[] {
  const scores = new Map<number, Candidate & { score: number }>();
  for (const [place, { document, passage }] of matches.entries())
    scores.set(document, { passage, isNear: false, score: 1 / (RANK_OFFSET + place) });
  for (const [place, { document, passage }] of near.entries()) {
    const known = scores.get(document);
    const score = (known?.score ?? 0) + 1 / (RANK_OFFSET + place);
    scores.set(document, { passage: known?.passage ?? passage, isNear: true, score });
  }
  return [...scores.values()].toSorted((one, other) => other.score - one.score).slice(0, INDEX_CANDIDATES);
}

/** How much of what a question asks for a passage or its title has, from 0 to 1. */
function coverageOf({ terms, weights }: Question, { title, text, url }: IndexedPassage): number {
  const path = url.startsWith('parley-index:') ? decodeURIComponent(url) : '';
  const own = new Set(termsOf(`${title} ${text} ${path}`));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const covered = terms.reduce((sum, term, at) => sum + (own.has(term) ? (weights[at] ?? 0) : 0), 0);
  return all > 0 ? covered / all : 0;
}

interface AnswersWish {
  readonly question: Question;
  readonly passages: ReadonlyMap<number, IndexedPassage>;
  readonly answersMax: number;
}

/** The same page, and the same text under another name, is told once. */
function firstAnswers(
  candidates: readonly Candidate[],
  { question, passages, answersMax }: AnswersWish,
): readonly IndexedPassage[] {
  const answers: IndexedPassage[] = [];
  const seen = new Set<string>();
  for (const { passage, isNear } of candidates) {
    if (answers.length >= answersMax) break;
    const read = passages.get(passage);
    if (!read || (!isNear && coverageOf(question, read) < INDEX_COVERAGE_MIN)) continue;
    const marks = [`url ${read.url}`, `hash ${read.hash}`, `text ${read.text}`];
    if (!marks.some((mark) => seen.has(mark))) answers.push(read);
    for (const mark of marks) seen.add(mark);
  }
  return answers;
}

const sourceOf = ({ title, url, siteName, icon, publishedAt, text }: IndexedPassage) => ({
  title,
  url,
  siteName,
  icon,
  ...(publishedAt === undefined ? {} : { publishedAt }),
  passage: text,
});

const scopeOf = (
  { workspace, freshnessDays, sites, blockedSites }: SearchQuery,
  of: IndexScope['of'],
  now: number,
): IndexScope => ({
  workspace,
  of,
  since: freshnessDays === undefined ? undefined : now - freshnessDays * DAY_MS,
  sites: sites?.map(hostOf),
  blockedSites: blockedSites?.map(hostOf),
});

/** A host as it stands in addresses: a caller may have written more than it, or letters beyond ASCII. */
function hostOf(site: string): string {
  const url = site.includes('://') ? site : `http://${site}`;
  // What is no host is the host of nothing.
  return URL.canParse(url) ? new URL(url).hostname : '\n';
}
