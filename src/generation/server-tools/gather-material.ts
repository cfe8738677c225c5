import type { Tenant } from '../../core/context.ts';
import {
  ANSWER_PAGE_MS_MAX,
  ANSWER_PAGES_MAX,
  ANSWER_QUERY_CHARS_MAX,
  ANSWER_RESULTS_MAX,
  ANSWER_SEARCH_MS_MAX,
  ANSWER_SEARCH_ROUNDS_MAX,
  ANSWER_SEARCHES_MAX,
} from './limits.ts';
import { getMessageText, type Message } from '../../core/message.ts';
import type {
  DomainResult,
  ReadPage,
  Search,
  SearchQuery,
  SearchToolOptions,
  ServerCallResult,
} from '../../core/server-tools.ts';
import { ServiceError } from '../../core/error.ts';
import { createSiteMatcher } from '../../core/site-filter.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { createDigest } from './conversation-digest.ts';
import { errorToFailure } from './error-to-failure.ts';
import { chooseFirstQueries } from './choose-first-queries.ts';
import { chooseNextStep } from './choose-next-step.ts';
import { createSourceList, removeFragment } from './source-list.ts';
import type { Material } from './source-prompt.ts';
import type { EventBatch, AnswerSession } from './answer-session.ts';
import { toQueryKey } from './normalize-query.ts';

export interface GatherDeps {
  readonly search: Search | undefined;
  readonly readPage: ReadPage | undefined;
}

/**
 * Searches and reads pages as the request demands, and yields each call and its result. Failed calls do not fail the
 * answer.
 */
export async function* gatherMaterial(
  answer: AnswerSession,
  { search, readPage }: GatherDeps,
): AsyncGenerator<EventBatch, Material> {
  const { request, context } = answer;
  const { search: searchOptions, pages } = request.serverTools ?? {};
  const { region, workspace } = context.owner;
  const tenant = { region, workspace };
  const digest = createDigest(request.messages);
  const list = createSourceList();
  const findings: DomainResult[] = [];
  const searchedKeys = new Set<string>();
  const visited = new Set<string>();
  // Without site filters for pages, the filters for searches apply, because searches lead to pages.
  const pageSites = omitNullish({
    sites: pages?.sites ?? searchOptions?.sites,
    blockedSites: pages?.blockedSites ?? searchOptions?.blockedSites,
  });
  const isAllowed = createSiteMatcher(pageSites);
  const namedUrls = readPage && pages ? findNamedUrls(request.messages).filter(isAllowed) : [];
  const searchesMax = searchOptions && search ? Math.min(searchOptions.usesMax ?? Infinity, ANSWER_SEARCHES_MAX) : 0;
  const pagesMax =
    readPage && (pages || searchOptions?.strategy === 'agent-max')
      ? Math.min(pages?.usesMax ?? Infinity, ANSWER_PAGES_MAX)
      : 0;
  const isAgent = searchOptions?.strategy === 'agent' || searchOptions?.strategy === 'agent-max';

  const runSearch = async (query: SearchQuery): Promise<ServerCallResult & { readonly type: 'search' }> => {
    try {
      const found = await answer.runWithTimeout(ANSWER_SEARCH_MS_MAX, (signal) =>
        (search ?? EMPTY_SEARCH)(query, signal),
      );
      return {
        type: 'search',
        sources: list.add(found.results.slice(0, ANSWER_RESULTS_MAX)),
        findings: found.findings,
      };
    } catch (error) {
      if (context.signal.aborted) throw error;
      return { type: 'search', sources: [], findings: [], failure: errorToFailure(error) };
    }
  };

  /** Starts all searches at once and yields them one after another. */
  async function* searchAll(queries: readonly string[], options: SearchToolOptions): AsyncGenerator<EventBatch> {
    const newQueries = queries
      .filter((query) => !searchedKeys.has(toQueryKey(query)))
      .slice(0, searchesMax - searchedKeys.size);
    const searches = newQueries.map((text) => {
      searchedKeys.add(toQueryKey(text));
      const result = runSearch(toQuery({ text, question: digest.question }, options, tenant));
      // Awaited later in the loop below; a caller that has left may never await it.
      result.catch(() => undefined);
      return { text, result };
    });
    for (const { text, result } of searches) {
      const call = answer.startCall({ type: 'search', query: text });
      yield answer.prependStart(call.events);
      const found = await result;
      if (!found.failure) answer.countUse('searches', options.strategy);
      findings.push(...found.findings);
      yield call.end(found);
    }
  }

  async function* readAndReport(url: string): AsyncGenerator<EventBatch> {
    visited.add(removeFragment(url));
    const call = answer.startCall({ type: 'page', url, goal: digest.question });
    yield answer.prependStart(call.events);
    try {
      const page = await answer.runWithTimeout(ANSWER_PAGE_MS_MAX, (signal) =>
        (readPage ?? REJECT_PAGES)({ url, tenant, ...pageSites }, signal),
      );
      // The page reader enforces the filter before each request; a redirect is checked here as well.
      if (!isAllowed(page.url))
        throw new ServiceError('forbidden', 'The page redirects to a host that the request does not allow.');
      const source = list.read(url, page);
      answer.countUse('pages');
      yield call.end({ type: 'page', ...omitNullish({ source }) });
    } catch (error) {
      if (context.signal.aborted) throw error;
      yield call.end({ type: 'page', failure: errorToFailure(error) });
    }
  }

  /** Readable pages by the number under which the model knows them. */
  const listReadablePages = (): ReadonlyMap<number, string> => {
    const found = list.all().filter(({ url, index }) => isWeb(url) && isAllowed(url) && !list.isRead(index));
    const first = list.all().length + 1;
    const others = namedUrls.filter(
      (url) => !found.some((source) => removeFragment(source.url) === removeFragment(url)),
    );
    const all = [
      ...found.map(({ index, url }) => [index, url] as const),
      ...others.map((url, i) => [first + i, url] as const),
    ];
    return new Map(all.filter(([, url]) => isAllowed(url) && !visited.has(removeFragment(url))));
  };

  // In the middle of the caller's own tool loop the question is an old one, for which nothing new is planned.
  if (request.messages.at(-1)?.role === 'tool' && !searchOptions?.isForced) return NO_MATERIAL;

  if (searchOptions && searchesMax > 0)
    yield* searchAll(await chooseFirstQueries(answer, digest, searchOptions), searchOptions);

  for (let round = 1; round < ANSWER_SEARCH_ROUNDS_MAX && answer.hasToolTime(); round++) {
    const canSearch = isAgent && searchedKeys.size > 0 && searchedKeys.size < searchesMax;
    const pagesLeft = visited.size < pagesMax ? listReadablePages() : new Map<number, string>();
    if (!canSearch && pagesLeft.size === 0) break;
    const namedPages = [...pagesLeft].filter(([index]) => index > list.all().length);
    const shownSources = [
      ...list.all(),
      ...namedPages.map(([index, url]) => ({ index, title: url, url, siteName: '', icon: '', passage: '' })),
    ];
    const step = await chooseNextStep(answer, digest, shownSources, {
      canSearch,
      pages: [...pagesLeft.keys()],
      searchOptions,
    });
    const url = step.type === 'read' ? pagesLeft.get(step.page) : undefined;
    if (step.type === 'search' && searchOptions && !searchedKeys.has(toQueryKey(step.query)))
      yield* searchAll([step.query], searchOptions);
    else if (url !== undefined) yield* readAndReport(url);
    else break;
  }

  const all = list.all();
  return {
    sources: all,
    findings,
    read: new Set(all.flatMap(({ index }) => (list.isRead(index) ? index : []))),
    isSearched: searchedKeys.size + visited.size > 0,
  };
}

const NO_MATERIAL: Material = { sources: [], findings: [], read: new Set(), isSearched: false };

const EMPTY_SEARCH: Search = async () => ({ results: [], findings: [] });
const REJECT_PAGES: ReadPage = () => Promise.reject(new Error('there is nothing to read pages with'));

function toQuery(
  { text, question }: { readonly text: string; readonly question: string },
  options: SearchToolOptions,
  tenant: Tenant,
): SearchQuery {
  const { strategy, usesDomainProviders, freshnessDays, sites, blockedSites } = options;
  return {
    text,
    // A longer question is a text with a question in it, whose words would lead elsewhere.
    ...(question.length <= ANSWER_QUERY_CHARS_MAX && question !== text ? { question } : {}),
    tenant,
    breadth: strategy === 'turbo' ? 'first' : 'all',
    resultsMax: ANSWER_RESULTS_MAX,
    usesDomainProviders,
    ...omitNullish({ freshnessDays, sites, blockedSites }),
  };
}

const isWeb = (url: string): boolean => /^https?:/.test(url);

/** URLs in the caller's own messages, latest first. Tool results are third-party text and do not count. */
function findNamedUrls(messages: readonly Message[]): readonly string[] {
  const texts = messages.filter(({ role }) => role !== 'tool' && role !== 'assistant').map(getMessageText);
  const found = texts.toReversed().flatMap((text) => text.match(/https?:\/\/[^\s<>"'`）】」』]+/g) ?? []);
  const urls = found.map((url) => url.replace(/[.,;:!?)\]}。，]+$/, '')).filter((url) => URL.canParse(url));
  return [...new Set(urls)].slice(0, ANSWER_PAGES_MAX);
}
