import type { RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import {
  RESEARCH_LEARNED_NOTES_MAX,
  RESEARCH_PAGE_MS_MAX,
  RESEARCH_QUERY_PAGES_MAX,
  RESEARCH_RESULTS_MAX,
  RESEARCH_SEARCH_MS_MAX,
} from '../../core/limits.ts';
import type { ResearchEvent, ResearchSite, ResearchStep } from '../../core/research.ts';
import type { ReadPage, Search, Source } from '../../core/server-tools.ts';
import { pageOf } from '../server-tools/source-list.ts';
import type { Kept } from './kept.ts';
import { createSaidSentences } from './likeness.ts';
import type { FetchedSite } from './page-fit.ts';
import { plainBlocks, plainLine } from './plain-blocks.ts';
import { isReadable } from './readable.ts';
import { joined, sentencesOf } from './sentences.ts';
import type { ResearchState } from './state.ts';
import { takeNotes } from './take-notes.ts';
import { withinTime } from './within-time.ts';
import type { Wanted } from './wanted.ts';

export interface GatherNeeds {
  readonly search: Search;
  readonly readPage: ReadPage;
}

export interface NextQuery {
  /** Position in the plan. */
  readonly section: number;
  readonly query: string;
  readonly goal: string;
  readonly wanted: Wanted;
  /** Of the budget, for this query. */
  readonly pagesMax: number;
}

type Result = Omit<Source, 'index'>;

/** One query: searched, the best pages read, and what was learned from them. What fails of it is no failure of the run. */
export async function gatherQuery(
  state: ResearchState,
  { section, query, goal, wanted, pagesMax }: NextQuery,
  { search, readPage }: GatherNeeds,
  context: RequestContext,
): Promise<ResearchStep> {
  const { workspace } = context.owner;
  const failed = (what: string) => (error: unknown) => {
    if (context.signal.aborted) throw error;
    context.log.warn(what, { error: ServiceError.from(error).message });
    return undefined;
  };
  const found = await withinTime(RESEARCH_SEARCH_MS_MAX, context.signal, (signal) =>
    search({ text: query, workspace, breadth: 'all', resultsMax: RESEARCH_RESULTS_MAX, withDomains: false }, signal),
  ).catch(failed('a search of a research failed'));
  const results = differentPages(found?.results ?? []).slice(0, RESEARCH_RESULTS_MAX);

  const pages = results
    .filter(({ url }) => !state.pages.has(pageOf(url)))
    .slice(0, Math.min(pagesMax, RESEARCH_QUERY_PAGES_MAX))
    .map(({ url }) => url);
  // What another query has read may have more for this one; it is none of its pages.
  const readBefore = results.flatMap(({ url }) =>
    state.pages.has(pageOf(url)) && !state.unread.has(pageOf(url)) ? url : [],
  );
  const asked = [...pages, ...readBefore];
  const read = await Promise.all(
    asked.map((url) =>
      withinTime(RESEARCH_PAGE_MS_MAX, context.signal, (signal) => readPage({ url, workspace }, signal)).catch(
        failed('a page of a research could not be read'),
      ),
    ),
  );
  const pageAt = (url: string): Result | undefined => read[asked.indexOf(url)];

  const failedNow = pages.filter((_, at) => read[at] === undefined).map(pageOf);
  const unread = state.unread.union(new Set(failedNow));

  const numbers = new Map(state.sites.map(({ url, number }) => [pageOf(url), number]));
  const sites = results.map((result): ResearchSite => {
    const known = state.sites.find(({ number }) => number === numbers.get(pageOf(result.url)));
    const number = known?.number ?? numbers.size + 1;
    numbers.set(pageOf(result.url), number);
    return known ?? siteOf(number, result, pageAt(result.url));
  });
  const fetched = results.map((result, at): FetchedSite => {
    const page = pageAt(result.url)?.passage ?? '';
    // What a provider says of a page is not what the page says.
    const said = result.isOwn && !unread.has(pageOf(result.url)) ? result.passage : '';
    return { number: sites[at]?.number ?? 0, title: result.title, passage: page.trim() === '' ? said : page };
  });
  const known = createSaidSentences(state.notes.flatMap(({ sentences }) => sentences));
  const { notes, contexts } = await takeNotes(fetched, wanted, known);
  const id = state.queries.length + 1;
  const fresh = sites.filter(({ number }) => number > state.sites.length);
  const keep: Kept = {
    type: 'query',
    id,
    section,
    query,
    isFailed: found === undefined,
    sites: fresh,
    pages,
    unread: failedNow,
    contexts,
    notes,
  };
  const best = new Set(notes.toSorted((a, b) => b.score - a.score).slice(0, RESEARCH_LEARNED_NOTES_MAX));
  const learned = Map.groupBy(
    notes.filter((note) => best.has(note)),
    ({ site }) => site,
  );
  const tell: ResearchEvent[] = [
    { type: 'query', id, query, goal },
    { type: 'sites', id, sites },
    ...[...learned].map(([site, each]): ResearchEvent => ({
      type: 'learned',
      id,
      site,
      text: joined(each.flatMap(({ sentences }) => sentences)),
    })),
    { type: 'query-end', id },
  ];
  return { tell, keep };
}

function differentPages(results: readonly Result[]): readonly Result[] {
  return [...new Map(results.toReversed().map((result) => [pageOf(result.url), result])).values()].toReversed();
}

/** Ours: characters of a description. Beyond: cut; fewer say nothing. */
const DESCRIPTION_CHARS_MAX = 200;
const DESCRIPTION_CHARS_MIN = 30;
const MARKUP = /[[\]{}<>|=$\\]|https?:|\/\//;

function siteOf(number: number, result: Result, page: Result | undefined): ResearchSite {
  const { url } = result;
  const title = [result.title, page?.title ?? '', hostOf(url)].map(plainLine).find((text) => text !== '');
  const blocks = plainBlocks(result.passage.slice(0, 8 * DESCRIPTION_CHARS_MAX));
  const readable = blocks.find((block) => sentencesOf(block).some(isReadable));
  const description =
    readable ?? blocks.find((block) => block.length >= DESCRIPTION_CHARS_MIN && !MARKUP.test(block)) ?? '';
  return {
    number,
    title: title ?? '',
    description: description.slice(0, DESCRIPTION_CHARS_MAX).toWellFormed(),
    url,
    icon: result.icon === '' ? (page?.icon ?? '') : result.icon,
  };
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '');
