import {
  INDEX_CANDIDATES,
  INDEX_COMMON_TERM_SHARE,
  INDEX_COMMON_TERMS_PASSAGES_MIN,
  INDEX_COVERAGE_MIN,
  INDEX_QUESTION_CHARS_MAX,
  INDEX_QUESTION_TERMS_MAX,
} from './limits.ts';
import type { SearchResults, SearchQuery } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { PassageRecord, IndexMatch, IndexSearchFilter } from '../../store/index-search.ts';
import type { Store } from '../../store/store.ts';
import { type NearestPassage, findNearestDocuments } from './find-nearest-documents.ts';
import type { EmbeddedTexts, EmbedTexts } from './search-index.ts';
import { extractQuestionTerms, extractTerms } from './terms.ts';

export interface SearchIndexDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  /** Without it, the search uses words only. */
  readonly embed?: EmbedTexts | undefined;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Searches the local index by words, and by vectors if there are any. It returns the best passage of each document and
 * drops passages that cover too little of the question, so that it may return nothing.
 *
 * @throws the signal's reason; ServiceError `internal` if the database fails.
 */
export type SearchIndex = (query: SearchQuery, signal: AbortSignal) => Promise<SearchResults>;

const DAY_MS = 86_400_000;

/** Constant of reciprocal rank fusion: a larger one reduces the lead of the first ranks. */
const RANK_OFFSET = 60;

export function createSearchIndex({ store, clock, embed, log }: SearchIndexDeps): SearchIndex {
  const embedQuestion = async (text: string, signal: AbortSignal): Promise<EmbeddedTexts | undefined> => {
    try {
      return await embed?.([text], signal);
    } catch (error) {
      signal.throwIfAborted();
      const reason = error instanceof Error ? error.message : String(error);
      log.warn('question embedding failed; the local index is searched by words only', { reason });
      return undefined;
    }
  };

  const searchScope = async (question: Question, scope: IndexSearchFilter, { answersMax, signal }: SearchBounds) => {
    const matches = await store.indexSearch.matchTerms(question.rareTerms, scope, INDEX_CANDIDATES);
    signal.throwIfAborted();
    const nearest = question.vector ? await findNearestDocuments(question.vector, scope, { store, signal }) : [];
    const candidates = fuseRankings(matches, nearest);
    const passages = await store.indexSearch.readPassages(
      candidates.map(({ passage }) => passage),
      scope,
    );
    signal.throwIfAborted();
    return selectAnswers(candidates, { question, passages, answersMax });
  };

  return async (query, signal) => {
    signal.throwIfAborted();
    const text = query.text.slice(0, INDEX_QUESTION_CHARS_MAX).toWellFormed();
    const terms = extractQuestionTerms(text).slice(0, INDEX_QUESTION_TERMS_MAX);
    if (terms.length === 0) return { results: [], findings: [] };
    const { passages, passagesByTerm } = await store.indexSearch.countTerms(terms);
    const weights = passagesByTerm.map((count) => 1 + Math.log(1 + (passages - count + 0.5) / (count + 0.5)));
    const rareTerms = selectRareTerms(terms, passages, passagesByTerm);
    const question: Question = {
      terms,
      rareTerms,
      weights,
      vector: passages > 0 ? await embedQuestion(text, signal) : undefined,
    };
    const bounds = { answersMax: query.resultsMax, signal };
    const results = await searchScope(question, toScope(query, 'plain', clock.now()), bounds);
    const findings = query.usesDomainProviders
      ? await searchScope(question, toScope(query, 'domains', clock.now()), bounds)
      : [];
    return {
      results: results.map(toSource),
      findings: findings.map(({ domain = '', title, text: passage }) => ({ domain, text: `${title}\n${passage}` })),
    };
  };
}

interface SearchBounds {
  readonly answersMax: number;
  readonly signal: AbortSignal;
}

interface Question {
  readonly terms: readonly string[];
  /** Terms that are looked up in the index. */
  readonly rareTerms: readonly string[];
  /** Weight of each term: the rarer, the higher. */
  readonly weights: readonly number[];
  readonly vector: EmbeddedTexts | undefined;
}

/**
 * Drops terms that occur in most passages if rarer ones exist: they do not affect the ranking but would match every
 * passage of a large index.
 */
function selectRareTerms(
  terms: readonly string[],
  passages: number,
  passagesWithTerm: readonly number[],
): readonly string[] {
  if (passages < INDEX_COMMON_TERMS_PASSAGES_MIN) return terms;
  const rare = terms.filter((_, at) => {
    const count = passagesWithTerm[at] ?? 0;
    return count > 0 && count <= passages * INDEX_COMMON_TERM_SHARE;
  });
  return rare.length > 0 ? rare : terms;
}

interface Candidate {
  readonly passage: number;
  readonly isNear: boolean;
}

/** Merges two rankings by reciprocal rank fusion. */
function fuseRankings(matches: readonly IndexMatch[], nearest: readonly NearestPassage[]): readonly Candidate[] {
  const scores = new Map<number, Candidate & { score: number }>();
  for (const [rank, { document, passage }] of matches.entries())
    scores.set(document, { passage, isNear: false, score: 1 / (RANK_OFFSET + rank) });
  for (const [rank, { document, passage }] of nearest.entries()) {
    const known = scores.get(document);
    const score = (known?.score ?? 0) + 1 / (RANK_OFFSET + rank);
    scores.set(document, { passage: known?.passage ?? passage, isNear: true, score });
  }
  return [...scores.values()].toSorted((one, other) => other.score - one.score).slice(0, INDEX_CANDIDATES);
}

/** Returns which share of the question's term weights a passage and its title cover, from 0 to 1. */
function computeCoverage({ terms, weights }: Question, { title, text, url }: PassageRecord): number {
  const path = url.startsWith('parley-index:') ? decodeURIComponent(url) : '';
  const ownTerms = new Set(extractTerms(`${title} ${text} ${path}`));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const covered = terms.reduce((sum, term, at) => sum + (ownTerms.has(term) ? (weights[at] ?? 0) : 0), 0);
  return all > 0 ? covered / all : 0;
}

interface SelectionOptions {
  readonly question: Question;
  readonly passages: ReadonlyMap<number, PassageRecord>;
  readonly answersMax: number;
}

/** Selects the best passages; the same page, and the same text under another name, appears once. */
function selectAnswers(
  candidates: readonly Candidate[],
  { question, passages, answersMax }: SelectionOptions,
): readonly PassageRecord[] {
  const answers: PassageRecord[] = [];
  const usedIdentities = new Set<string>();
  for (const { passage, isNear } of candidates) {
    if (answers.length >= answersMax) break;
    const indexed = passages.get(passage);
    if (!indexed || (!isNear && computeCoverage(question, indexed) < INDEX_COVERAGE_MIN)) continue;
    const identities = [`url ${indexed.url}`, `hash ${indexed.hash}`, `text ${indexed.text}`];
    if (!identities.some((mark) => usedIdentities.has(mark))) answers.push(indexed);
    for (const mark of identities) usedIdentities.add(mark);
  }
  return answers;
}

const toSource = ({ title, url, siteName, icon, publishedAt, text }: PassageRecord) => ({
  title,
  url,
  siteName,
  icon,
  ...(publishedAt === undefined ? {} : { publishedAt }),
  passage: text,
});

const toScope = (
  { tenant, freshnessDays, sites, blockedSites }: SearchQuery,
  collections: IndexSearchFilter['collections'],
  now: number,
): IndexSearchFilter => ({
  tenant,
  collections,
  since: freshnessDays === undefined ? undefined : now - freshnessDays * DAY_MS,
  sites: sites?.map(toHost),
  blockedSites: blockedSites?.map(toHost),
});

/** Returns the host name as URLs contain it; the caller may have sent a whole URL or letters beyond ASCII. */
function toHost(site: string): string {
  const url = site.includes('://') ? site : `http://${site}`;
  // An invalid host matches nothing.
  return URL.canParse(url) ? new URL(url).hostname : '\n';
}
