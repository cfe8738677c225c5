import type { Found, SearchQuery } from '../../../core/server-tools.ts';
import type { Log } from '../../../core/telemetry.ts';
import type { SearchResult } from '../clean-found.ts';
import type { SearchProvider } from '../search-provider.ts';

export const NEVER = new AbortController().signal;

export const queryOf = (more: Partial<SearchQuery> = {}): SearchQuery => ({
  text: 'tides of the north sea',
  workspace: 'w',
  breadth: 'all',
  resultsMax: 10,
  withDomains: false,
  ...more,
});

export const resultOf = (url: string, more: Partial<SearchResult> = {}): SearchResult => ({
  title: `Of ${url}`,
  url,
  siteName: '',
  icon: '',
  passage: `What is said at ${url}.`,
  ...more,
});

export const foundOf = (...urls: readonly string[]): Found => ({
  results: urls.map((url) => resultOf(url)),
  findings: [],
});

/** A provider that finds what a test says, and tells what it was asked. */
export function providerOf(
  name: string,
  search: (signal: AbortSignal) => Found | Promise<Found>,
  domain?: string,
): SearchProvider & { readonly asked: SearchQuery[] } {
  const asked: SearchQuery[] = [];
  return {
    name,
    asked,
    ...(domain === undefined ? {} : { domain }),
    async search(query, signal) {
      asked.push(query);
      return await search(signal);
    },
  };
}

/** A provider that goes on until it is told to stop, and not then either where it is deaf. */
export const endless = (name: string, isDeaf = false): SearchProvider =>
  providerOf(
    name,
    (signal) =>
      new Promise((_resolve, reject) => {
        if (!isDeaf) signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  );

export function keptLog(): Log & { readonly lines: readonly unknown[] } {
  const lines: unknown[] = [];
  const keep = (message: string, facts: unknown): void => void lines.push([message, facts]);
  return { lines, info: keep, warn: keep, error: keep };
}
