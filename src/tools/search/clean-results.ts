import type { DomainResult, SearchResults } from '../../core/server-tools.ts';
import {
  SEARCH_DOMAIN_RESULT_CHARS_MAX,
  SEARCH_DOMAIN_RESULTS_MAX,
  SEARCH_PASSAGE_CHARS_MAX,
  SEARCH_PROVIDER_RESULTS_MAX,
  SEARCH_SITE_NAME_CHARS_MAX,
  SEARCH_TITLE_CHARS_MAX,
  SEARCH_URL_CHARS_MAX,
} from '../limits.ts';
import { truncateText } from '../../lib/remove-invisible-characters.ts';
import { parseWebUrl } from '../web-url.ts';
import { markupToLine, markupToText } from './markup-to-text.ts';

export type SearchResult = SearchResults['results'][number];

/** URLs of documents in the local index that have no URL of their own. */
const INDEX_URL = /^parley-index:[^\s\p{Cc}]+$/u;

/** Removes markup and truncates the fields of results; drops results without a usable URL. */
export function cleanResults(
  results: readonly SearchResult[],
  { isOwn }: { readonly isOwn: boolean },
): readonly SearchResult[] {
  return results.slice(0, SEARCH_PROVIDER_RESULTS_MAX).flatMap((result) => {
    const url = isOwn && isIndexUrl(result.url) ? result.url : parseWebUrl(result.url, SEARCH_URL_CHARS_MAX);
    if (url === undefined) return [];
    const { publishedAt } = result;
    const passage = markupToText(result.passage, SEARCH_PASSAGE_CHARS_MAX);
    const title = markupToLine(result.title, SEARCH_TITLE_CHARS_MAX);
    if (passage === '' && title === '') return [];
    return [
      {
        title: title === '' ? url : title,
        url,
        siteName: markupToLine(result.siteName, SEARCH_SITE_NAME_CHARS_MAX),
        icon: parseWebUrl(result.icon, SEARCH_URL_CHARS_MAX) ?? '',
        ...(publishedAt !== undefined && Number.isFinite(publishedAt) ? { publishedAt } : {}),
        passage,
        ...(isOwn ? { isOwn } : {}),
      },
    ];
  });
}

/**
 * Returns the findings of a domain provider, or its results as texts if it has no findings.
 * @param domain Absent if the provider has several domains and each finding names its own.
 */
export function cleanFindings(results: SearchResults, domain?: string): readonly DomainResult[] {
  if (domain === undefined)
    return results.findings.slice(0, SEARCH_DOMAIN_RESULTS_MAX).flatMap((finding) => {
      const text = markupToText(finding.text, SEARCH_DOMAIN_RESULT_CHARS_MAX);
      const tag = markupToLine(finding.domain, SEARCH_SITE_NAME_CHARS_MAX);
      return text === '' || tag === '' ? [] : [{ domain: tag, text }];
    });
  const findingTexts = results.findings
    .slice(0, SEARCH_DOMAIN_RESULTS_MAX)
    .map(({ text }) => markupToText(text, SEARCH_DOMAIN_RESULT_CHARS_MAX));
  const texts = findingTexts.some((text) => text !== '')
    ? findingTexts.filter((text) => text !== '')
    : cleanResults(results.results, { isOwn: false }).map(({ title, passage, url }) =>
        truncateText([title, passage, url].join('\n'), SEARCH_DOMAIN_RESULT_CHARS_MAX),
      );
  return texts.slice(0, SEARCH_DOMAIN_RESULTS_MAX).map((text) => ({ domain, text }));
}

const isIndexUrl = (url: string): boolean => url.length <= SEARCH_URL_CHARS_MAX && INDEX_URL.test(url);
