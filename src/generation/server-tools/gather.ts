import {
  ANSWER_PAGE_MS_MAX,
  ANSWER_PAGES_MAX,
  ANSWER_RESULTS_MAX,
  ANSWER_SEARCH_MS_MAX,
  ANSWER_SEARCH_ROUNDS_MAX,
  ANSWER_SEARCHES_MAX,
} from '../../core/limits.ts';
import { textOf } from '../../core/message.ts';
import type { Message } from '../../core/message.ts';
import type {
  DomainFinding,
  ReadPage,
  Search,
  SearchQuery,
  SearchWish,
  ServerCallResult,
} from '../../core/server-tools.ts';
import { ServiceError } from '../../core/error.ts';
import { createSiteRules } from '../../core/site-rules.ts';
import { present } from '../../lib/present.ts';
import { digestOf } from './conversation-digest.ts';
import { failureOf } from './failure.ts';
import { firstQueries } from './first-queries.ts';
import { nextStep } from './next-step.ts';
import { createSourceList, pageOf } from './source-list.ts';
import type { Material } from './source-prompt.ts';
import type { Batch, Turn } from './turn.ts';
import { queryKey } from './usable-query.ts';

export interface GatherNeeds {
  readonly search: Search | undefined;
  readonly readPage: ReadPage | undefined;
}

/** Searches and reads as the request wishes, and tells of each call and its result. What fails is told; the answer goes on. */
export async function* gather(turn: Turn, { search, readPage }: GatherNeeds): AsyncGenerator<Batch, Material> {
  const { request, context } = turn;
  const { search: wish, pages } = request.serverTools ?? {};
  const { workspace } = context.owner;
  const digest = digestOf(request.messages);
  const list = createSourceList();
  const findings: DomainFinding[] = [];
  const asked = new Set<string>();
  const visited = new Set<string>();
  // A caller who says nothing of pages is heard in what was said of searches, which lead there.
  const pageSites = present({
    sites: pages?.sites ?? wish?.sites,
    blockedSites: pages?.blockedSites ?? wish?.blockedSites,
  });
  const isReadable = createSiteRules(pageSites);
  const named = readPage && pages ? addressesIn(request.messages).filter(isReadable) : [];
  const searchesMax = wish && search ? Math.min(wish.usesMax ?? Infinity, ANSWER_SEARCHES_MAX) : 0;
  const pagesMax =
    readPage && (pages || wish?.strategy === 'agent-max') ? Math.min(pages?.usesMax ?? Infinity, ANSWER_PAGES_MAX) : 0;
  const isAgent = wish?.strategy === 'agent' || wish?.strategy === 'agent-max';

  const lookUp = async (query: SearchQuery): Promise<ServerCallResult & { readonly type: 'search' }> => {
    try {
      const found = await turn.limited(ANSWER_SEARCH_MS_MAX, (signal) => (search ?? NO_SEARCH)(query, signal));
      return {
        type: 'search',
        sources: list.add(found.results.slice(0, ANSWER_RESULTS_MAX)),
        findings: found.findings,
      };
    } catch (error) {
      if (context.signal.aborted) throw error;
      return { type: 'search', sources: [], findings: [], failure: failureOf(error) };
    }
  };

  /** All are asked at once, and told one after another. */
  async function* searchFor(queries: readonly string[], by: SearchWish): AsyncGenerator<Batch> {
    const fresh = queries.filter((query) => !asked.has(queryKey(query))).slice(0, searchesMax - asked.size);
    const looked = fresh.map((text) => {
      asked.add(queryKey(text));
      const result = lookUp(toQuery(text, by, workspace));
      // It is awaited in its turn; a caller who is gone by then need not hear of it.
      result.catch(() => undefined);
      return { text, result };
    });
    for (const { text, result } of looked) {
      const call = turn.begin({ type: 'search', query: text });
      yield turn.opened(call.events);
      const found = await result;
      if (!found.failure) turn.count('searches', by.strategy);
      findings.push(...found.findings);
      yield call.end(found);
    }
  }

  async function* read(url: string): AsyncGenerator<Batch> {
    visited.add(pageOf(url));
    const call = turn.begin({ type: 'page', url, goal: digest.question });
    yield turn.opened(call.events);
    try {
      const page = await turn.limited(ANSWER_PAGE_MS_MAX, (signal) =>
        (readPage ?? NO_PAGES)({ url, workspace, ...pageSites }, signal),
      );
      // Whoever reads pages holds to it before it asks; where the answer came from is judged here too.
      if (!isReadable(page.url)) throw new ServiceError('forbidden', 'The page leads to a host that is not allowed.');
      const source = list.read(url, page);
      turn.count('pages');
      yield call.end({ type: 'page', ...present({ source }) });
    } catch (error) {
      if (context.signal.aborted) throw error;
      yield call.end({ type: 'page', failure: failureOf(error) });
    }
  }

  /** By the number that the model knows it by. */
  const readable = (): ReadonlyMap<number, string> => {
    const found = list.all().filter(({ url, index }) => isWeb(url) && isReadable(url) && !list.isRead(index));
    const first = list.all().length + 1;
    const others = named.filter((url) => !found.some((source) => pageOf(source.url) === pageOf(url)));
    const all = [
      ...found.map(({ index, url }) => [index, url] as const),
      ...others.map((url, i) => [first + i, url] as const),
    ];
    return new Map(all.filter(([, url]) => isReadable(url) && !visited.has(pageOf(url))));
  };

  if (wish && searchesMax > 0) yield* searchFor(await firstQueries(turn, digest, wish), wish);

  for (let round = 1; round < ANSWER_SEARCH_ROUNDS_MAX && turn.hasTime(); round++) {
    const canSearch = isAgent && asked.size > 0 && asked.size < searchesMax;
    const pagesLeft = visited.size < pagesMax ? readable() : new Map<number, string>();
    if (!canSearch && pagesLeft.size === 0) break;
    const untold = [...pagesLeft].filter(([index]) => index > list.all().length);
    const shown = [
      ...list.all(),
      ...untold.map(([index, url]) => ({ index, title: url, url, siteName: '', icon: '', passage: '' })),
    ];
    const step = await nextStep(turn, digest, shown, { canSearch, pages: [...pagesLeft.keys()], wish });
    const url = step.type === 'read' ? pagesLeft.get(step.page) : undefined;
    if (step.type === 'search' && wish && !asked.has(queryKey(step.query))) yield* searchFor([step.query], wish);
    else if (url !== undefined) yield* read(url);
    else break;
  }

  const all = list.all();
  return {
    sources: all,
    findings,
    read: new Set(all.flatMap(({ index }) => (list.isRead(index) ? index : []))),
    isSearched: asked.size + visited.size > 0,
  };
}

const NO_SEARCH: Search = async () => ({ results: [], findings: [] });
const NO_PAGES: ReadPage = () => Promise.reject(new Error('there is nothing to read pages with'));

function toQuery(text: string, wish: SearchWish, workspace: string): SearchQuery {
  const { strategy, withDomains, freshnessDays, sites, blockedSites } = wish;
  return {
    text,
    workspace,
    breadth: strategy === 'turbo' ? 'first' : 'all',
    resultsMax: ANSWER_RESULTS_MAX,
    withDomains,
    ...present({ freshnessDays, sites, blockedSites }),
  };
}

const isWeb = (url: string): boolean => /^https?:/.test(url);

/** Pages that the caller's own messages name, the latest first. What tools answered there is not the caller's. */
function addressesIn(messages: readonly Message[]): readonly string[] {
  const texts = messages.filter(({ role }) => role !== 'tool' && role !== 'assistant').map(textOf);
  const found = texts.toReversed().flatMap((text) => text.match(/https?:\/\/[^\s<>"'`）】」』]+/g) ?? []);
  const urls = found.map((url) => url.replace(/[.,;:!?)\]}。，]+$/, '')).filter((url) => URL.canParse(url));
  return [...new Set(urls)].slice(0, ANSWER_PAGES_MAX);
}
