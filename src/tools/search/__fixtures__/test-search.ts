import type { SearchResults, SearchQuery } from '../../../core/server-tools.ts';
import type { Log } from '../../../core/telemetry.ts';
import type { SearchResult } from '../clean-results.ts';
import type { SearchProvider } from '../search-provider.ts';

export const NEVER = new AbortController().signal;

export const createTestQuery = (more: Partial<SearchQuery> = {}): SearchQuery => ({
  text: 'tides of the north sea',
  tenant: { region: 'cn-beijing', workspace: 'w' },
  breadth: 'all',
  resultsMax: 10,
  usesDomainProviders: false,
  ...more,
});

export const createTestResult = (url: string, more: Partial<SearchResult> = {}): SearchResult => ({
  title: `Title of ${url}`,
  url,
  siteName: '',
  icon: '',
  passage: `Passage of ${url}.`,
  ...more,
});

export const createTestResults = (...urls: readonly string[]): SearchResults => ({
  results: urls.map((url) => createTestResult(url)),
  findings: [],
});

/** Creates a provider that returns the results of `search` and records its queries. */
export function createFakeProvider(
  name: string,
  search: (signal: AbortSignal) => SearchResults | Promise<SearchResults>,
  domain?: string,
): SearchProvider & { readonly queries: SearchQuery[] } {
  const queries: SearchQuery[] = [];
  return {
    name,
    queries,
    ...(domain === undefined ? {} : { domain }),
    async search(query, signal) {
      queries.push(query);
      return await search(signal);
    },
  };
}

/** Creates a provider that never responds; with `ignoresAbort` it does not even react to the abort signal. */
export const createHangingProvider = (name: string, ignoresAbort = false): SearchProvider =>
  createFakeProvider(
    name,
    (signal) =>
      new Promise((_resolve, reject) => {
        if (!ignoresAbort) signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  );

export function createRecordingLog(): Log & { readonly lines: readonly unknown[] } {
  const lines: unknown[] = [];
  const record = (message: string, fields: unknown): void => void lines.push([message, fields]);
  return { lines, info: record, warn: record, error: record };
}
