import type { RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import {
  RESEARCH_LEARNED_NOTES_MAX,
  RESEARCH_PAGE_MS_MAX,
  RESEARCH_QUERY_PAGES_MAX,
  RESEARCH_RESULTS_MAX,
  RESEARCH_SEARCH_MS_MAX,
} from './limits.ts';
import type { ResearchEvent, ResearchSite, ResearchStep } from '../research.ts';
import type { ScoreRelevance } from '../../../core/relevance.ts';
import type { ReadPage, Search, Source } from '../../../core/server-tools.ts';
import { removeFragment } from '../../../generation/server-tools/source-list.ts';
import type { StepRecord } from './step-record.ts';
import { createSentenceIndex } from './sentence-index.ts';
import type { FetchedSite } from './page-relevance.ts';
import { markdownToBlocks, markdownToLine } from './markdown-to-blocks.ts';
import { isReportable } from './reportable-sentence.ts';
import { joinSentences, splitSentences } from './sentences.ts';
import type { ResearchState } from './state.ts';
import { takeNotes } from './take-notes.ts';
import { runWithTimeout } from './run-with-timeout.ts';
import { weighByTitles } from './relevance-terms.ts';
import type { RelevanceTerms } from './relevance-terms.ts';

export interface GatherQueryDeps {
  readonly search: Search;
  readonly readPage: ReadPage;
  readonly scoreRelevance?: ScoreRelevance;
}

export interface PlannedQuery {
  /** Position of the section in the plan. */
  readonly section: number;
  readonly query: string;
  readonly goal: string;
  readonly relevanceTerms: RelevanceTerms;
  /** Pages that this query may read. */
  readonly pagesMax: number;
}

type SearchResult = Omit<Source, 'index'>;

/**
 * Runs one query: searches, reads the best pages, and takes notes from them. Failed searches and pages do not fail the
 * run.
 */
export async function gatherQuery(
  state: ResearchState,
  { section, query, goal, relevanceTerms, pagesMax }: PlannedQuery,
  { search, readPage, scoreRelevance }: GatherQueryDeps,
  context: RequestContext,
): Promise<ResearchStep> {
  const { region, workspace } = context.owner;
  const tenant = { region, workspace };
  const logFailure = (message: string) => (error: unknown) => {
    if (context.signal.aborted) throw error;
    context.log.warn(message, { error: ServiceError.from(error).message });
    return undefined;
  };
  const found = await runWithTimeout(RESEARCH_SEARCH_MS_MAX, context.signal, (signal) =>
    search(
      { text: query, tenant, breadth: 'all', resultsMax: RESEARCH_RESULTS_MAX, usesDomainProviders: false },
      signal,
    ),
  ).catch(logFailure('research search failed'));
  const results = deduplicatePages(found?.results ?? []).slice(0, RESEARCH_RESULTS_MAX);

  const pages = results
    .filter(({ url }) => !state.pages.has(removeFragment(url)))
    .slice(0, Math.min(pagesMax, RESEARCH_QUERY_PAGES_MAX))
    .map(({ url }) => url);
  // Pages that an earlier query read may also answer this one. They do not count against the page budget.
  const reread = results.flatMap(({ url }) =>
    state.pages.has(removeFragment(url)) && !state.unreadPages.has(removeFragment(url)) ? url : [],
  );
  const pagesToRead = [...pages, ...reread];
  const read = await Promise.all(
    pagesToRead.map((url) =>
      runWithTimeout(RESEARCH_PAGE_MS_MAX, context.signal, (signal) => readPage({ url, tenant }, signal)).catch(
        logFailure('research page could not be read'),
      ),
    ),
  );
  const findReadPage = (url: string): SearchResult | undefined => read[pagesToRead.indexOf(url)];

  const unreadNow = pages.filter((_, at) => read[at] === undefined).map(removeFragment);
  const unread = state.unreadPages.union(new Set(unreadNow));

  const numbers = new Map(state.sites.map(({ url, number }) => [removeFragment(url), number]));
  const sites = results.map((result): ResearchSite => {
    const known = state.sites.find(({ number }) => number === numbers.get(removeFragment(result.url)));
    const number = known?.number ?? numbers.size + 1;
    numbers.set(removeFragment(result.url), number);
    return known ?? createSite(number, result, findReadPage(result.url));
  });
  const fetched = results.map((result, at): FetchedSite => {
    const page = findReadPage(result.url)?.passage ?? '';
    // The search provider's description is not evidence of what the page says; a passage of the local index is.
    const indexPassage = result.isOwn && !unread.has(removeFragment(result.url)) ? result.passage : '';
    return { number: sites[at]?.number ?? 0, title: result.title, passage: page.trim() === '' ? indexPassage : page };
  });
  const known = createSentenceIndex(state.notes.flatMap(({ sentences }) => sentences));
  // The first query is the question itself, or the part of it that the plan begins with.
  const leadSites = state.sites.length > 0 ? state.sites.slice(0, RESEARCH_RESULTS_MAX) : sites;
  const terms = weighByTitles(
    relevanceTerms,
    leadSites.map(({ title }) => title),
  );
  const { notes, contexts } = await takeNotes(fetched, terms, known, async (question, texts) =>
    scoreRelevance?.(question, texts, context),
  );
  const id = state.queries.length + 1;
  const newSites = sites.filter(({ number }) => number > state.sites.length);
  const record: StepRecord = {
    type: 'query',
    id,
    section,
    query,
    isFailed: found === undefined,
    sites: newSites,
    pages,
    unread: unreadNow,
    contexts,
    notes,
  };
  const best = new Set(notes.toSorted((a, b) => b.score - a.score).slice(0, RESEARCH_LEARNED_NOTES_MAX));
  const learned = Map.groupBy(
    notes.filter((note) => best.has(note)),
    ({ site }) => site,
  );
  const events: ResearchEvent[] = [
    { type: 'query', id, query, goal },
    { type: 'sites', id, sites },
    ...[...learned].map(([site, siteNotes]): ResearchEvent => ({
      type: 'learned',
      id,
      site,
      text: joinSentences(siteNotes.flatMap(({ sentences }) => sentences)),
    })),
    { type: 'query-end', id },
  ];
  return { events: events, state: record };
}

function deduplicatePages(results: readonly SearchResult[]): readonly SearchResult[] {
  return [...new Map(results.toReversed().map((result) => [removeFragment(result.url), result])).values()].toReversed();
}

/** Characters of a description: longer ones are cut, shorter ones carry no information. */
const DESCRIPTION_CHARS_MAX = 200;
const DESCRIPTION_CHARS_MIN = 30;
const MARKUP = /[[\]{}<>|=$\\]|https?:|\/\//;

function createSite(number: number, result: SearchResult, page: SearchResult | undefined): ResearchSite {
  const { url } = result;
  const title = [result.title, page?.title ?? '', parseHostname(url)].map(markdownToLine).find((text) => text !== '');
  const blocks = markdownToBlocks(result.passage.slice(0, 8 * DESCRIPTION_CHARS_MAX)).map(({ text }) => text);
  const reportableBlock = blocks.find((block) => splitSentences(block).some(isReportable));
  const description =
    reportableBlock ?? blocks.find((block) => block.length >= DESCRIPTION_CHARS_MIN && !MARKUP.test(block)) ?? '';
  return {
    number,
    title: title ?? '',
    description: description.slice(0, DESCRIPTION_CHARS_MAX).toWellFormed(),
    url,
    icon: result.icon === '' ? (page?.icon ?? '') : result.icon,
  };
}

const parseHostname = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '');
