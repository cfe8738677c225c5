import { SEARCH_PASSAGE_CHARS_MAX } from '../../tools/limits.ts';
import {
  INDEX_CANDIDATES,
  INDEX_COVERAGE_MIN,
  INDEX_QUESTION_CHARS_MAX,
  INDEX_QUESTION_TERMS_MAX,
  INDEX_RERANKED_MAX,
  INDEX_RESULT_PASSAGES_MAX,
} from './limits.ts';
import type { SearchResults, SearchQuery } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { PassageRecord, IndexSearchFilter } from '../../store/index-search.ts';
import type { Store } from '../../store/store.ts';
import { findNearestDocuments } from './find-nearest-documents.ts';
import { joinPassages } from './join-passages.ts';
import { getBestPassage, joinCandidates, scoreCandidates, type ScoredCandidate } from './score-candidates.ts';
import type { EmbeddedTexts, EmbedTexts, RankTexts } from './search-index.ts';
import { weighTerms, type TermWeights } from './term-weights.ts';
import { extractQuestionTerms } from './terms.ts';

export interface SearchIndexDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  /** Without it, the search uses words only. */
  readonly embed?: EmbedTexts | undefined;
  /** Sorts the best documents again. Without it, they keep their order. */
  readonly rank?: RankTexts | undefined;
  readonly log: Pick<Log, 'warn'>;
}

/**
 * Searches the local index by words, and by vectors if there are any. It returns the best passages of each document and
 * drops documents that cover too little of the question, so that it may return nothing.
 *
 * @throws the signal's reason; ServiceError `internal` if the database fails.
 */
export type SearchIndex = (query: SearchQuery, signal: AbortSignal) => Promise<SearchResults>;

const DAY_MS = 86_400_000;

export function createSearchIndex({ store, clock, embed, rank, log }: SearchIndexDeps): SearchIndex {
  /** Returns undefined if the model fails: the search then goes on without it. */
  const runModel = async <Result>(
    message: string,
    signal: AbortSignal,
    run: () => Promise<Result | undefined> | undefined,
  ): Promise<Result | undefined> => {
    try {
      return await run();
    } catch (error) {
      signal.throwIfAborted();
      log.warn(message, { reason: error instanceof Error ? error.message : String(error) });
      return undefined;
    }
  };

  /** Returns undefined for a text without words. */
  const weighText = async (text: string): Promise<TermWeights | undefined> => {
    const { words, compounds } = extractQuestionTerms(text);
    if (words.length === 0) return undefined;
    return await weighTerms(
      {
        words: words.slice(0, INDEX_QUESTION_TERMS_MAX),
        compounds: new Map([...compounds].slice(0, INDEX_QUESTION_TERMS_MAX)),
      },
      store.indexSearch,
    );
  };

  const findCandidates = async (
    { weights, queryWeights, vector }: Question,
    scope: IndexSearchFilter,
    signal: AbortSignal,
  ): Promise<readonly ScoredCandidate[]> => {
    const matches = await store.indexSearch.matchTerms(weights.lookupTerms, scope, INDEX_CANDIDATES);
    signal.throwIfAborted();
    const found = vector && (await findNearestDocuments(vector, scope, { store, signal }));
    const candidates = joinCandidates(matches, found);
    const best = await store.indexSearch.readPassages(candidates.map(getBestPassage), scope);
    const leads = await store.indexSearch.readPassages(
      [...new Set([...best.values()].map(({ firstPassage }) => firstPassage))],
      scope,
    );
    signal.throwIfAborted();
    return scoreCandidates(candidates, { weights, queryWeights, passages: new Map([...leads, ...best]) }).filter(
      ({ isNearest, coverage }) => isNearest || coverage >= INDEX_COVERAGE_MIN,
    );
  };

  /** Sorts the best candidates by a model that reads question and passage together. */
  const rerank = async (
    text: string,
    candidates: readonly ScoredCandidate[],
    signal: AbortSignal,
  ): Promise<readonly ScoredCandidate[]> => {
    const first = candidates.slice(0, INDEX_RERANKED_MAX);
    if (!rank || first.length < 2) return candidates;
    const texts = first.map(({ best }) => `${best.title}\n${best.text}`);
    const scores = await runModel('reranking failed; the local index keeps its own order', signal, () =>
      rank(text, texts, signal),
    );
    if (!scores) return candidates;
    const order = first.map((candidate, at) => ({ candidate, score: scores[at] ?? -Infinity }));
    const ranked = order.toSorted((one, other) => other.score - one.score).map(({ candidate }) => candidate);
    return [...ranked, ...candidates.slice(first.length)];
  };

  /** Joins the passages of each document that say most about the question. */
  const readAnswers = async (
    { weights }: Question,
    chosen: readonly ScoredCandidate[],
    scope: IndexSearchFilter,
  ): Promise<readonly PassageRecord[]> => {
    const documents = chosen.map(({ document }) => document);
    const matches = await store.indexSearch.matchPassages(weights.lookupTerms, documents, INDEX_RESULT_PASSAGES_MAX);
    const numbersByDocument = new Map(
      chosen.map(({ document, best, near }) => {
        const others = matches.filter((match) => match.document === document).map(({ passage }) => passage);
        const numbers = [best.passage, ...(near ? [near.passage] : []), ...others];
        return [document, new Set([...new Set(numbers)].slice(0, INDEX_RESULT_PASSAGES_MAX))];
      }),
    );
    const texts = await store.indexSearch.readPassages(
      [...numbersByDocument.values()].flatMap((numbers) => [...numbers]),
      scope,
    );
    return chosen.map(({ document, best }) => {
      // The best passage comes first, so that a limit of characters never cuts it.
      const numbers = [...(numbersByDocument.get(document) ?? [])];
      return { ...best, text: joinBestPassages(numbers.flatMap((number) => texts.get(number) ?? [])) };
    });
  };

  const searchScope = async (question: Question, scope: IndexSearchFilter, { answersMax, signal }: SearchBounds) => {
    const candidates = await rerank(question.text, await findCandidates(question, scope, signal), signal);
    signal.throwIfAborted();
    return await readAnswers(question, selectDistinct(candidates, answersMax), scope);
  };

  return async (query, signal) => {
    signal.throwIfAborted();
    const text = [query.question ?? '', query.text]
      .filter((part) => part !== '')
      .join('\n')
      .slice(0, INDEX_QUESTION_CHARS_MAX)
      .toWellFormed();
    const weights = await weighText(text);
    if (!weights) return { results: [], findings: [] };
    const vector =
      weights.passages > 0
        ? await runModel('question embedding failed; the local index is searched by words only', signal, () =>
            embed?.([text], signal),
          )
        : undefined;
    const queryWeights =
      (query.question && (await weighText(query.text.slice(0, INDEX_QUESTION_CHARS_MAX)))) || weights;
    const question: Question = { text, weights, queryWeights, vector };
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
  readonly text: string;
  readonly weights: TermWeights;
  readonly queryWeights: TermWeights;
  readonly vector: EmbeddedTexts | undefined;
}

/** Selects the best documents; the same page, and the same text under another name, appears once. */
function selectDistinct(candidates: readonly ScoredCandidate[], answersMax: number): readonly ScoredCandidate[] {
  const selected: ScoredCandidate[] = [];
  const usedIdentities = new Set<string>();
  for (const candidate of candidates) {
    if (selected.length >= answersMax) break;
    const { url, hash, text } = candidate.best;
    const identities = [`url ${url}`, `hash ${hash}`, `text ${text}`];
    if (!identities.some((mark) => usedIdentities.has(mark))) selected.push(candidate);
    for (const mark of identities) usedIdentities.add(mark);
  }
  return selected;
}

/** Joins passages in the order of their text: the first ones, as many as fit. */
function joinBestPassages(passages: readonly PassageRecord[]): string {
  let count = 1;
  while (
    count < passages.length &&
    joinPassages(passages.slice(0, count + 1), Infinity).length <= SEARCH_PASSAGE_CHARS_MAX
  )
    count++;
  return joinPassages(passages.slice(0, count), SEARCH_PASSAGE_CHARS_MAX);
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
