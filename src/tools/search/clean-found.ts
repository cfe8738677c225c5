import type { DomainFinding, Found } from '../../core/server-tools.ts';
import {
  SEARCH_FINDING_CHARS_MAX,
  SEARCH_FINDINGS_MAX,
  SEARCH_PASSAGE_CHARS_MAX,
  SEARCH_PROVIDER_RESULTS_MAX,
  SEARCH_SITE_NAME_CHARS_MAX,
  SEARCH_TITLE_CHARS_MAX,
  SEARCH_URL_CHARS_MAX,
} from '../../core/limits.ts';
import { cutText } from '../../lib/visible-text.ts';
import { webAddress } from '../web-address.ts';
import { plainLine, plainText } from './plain-text.ts';

export type SearchResult = Found['results'][number];

/** Documents of the local index that have no address of their own. */
const INDEX_ADDRESS = /^parley-index:[^\s\p{Cc}]+$/u;

/** Results with nothing in them that callers do not expect, each of them bounded; those without a usable address are dropped. */
export function cleanResults(
  results: readonly SearchResult[],
  { isOwn }: { readonly isOwn: boolean },
): readonly SearchResult[] {
  return results.slice(0, SEARCH_PROVIDER_RESULTS_MAX).flatMap((result) => {
    const url = isOwn && isOwnAddress(result.url) ? result.url : webAddress(result.url, SEARCH_URL_CHARS_MAX);
    if (url === undefined) return [];
    const { publishedAt } = result;
    const passage = plainText(result.passage, SEARCH_PASSAGE_CHARS_MAX);
    const title = plainLine(result.title, SEARCH_TITLE_CHARS_MAX);
    if (passage === '' && title === '') return [];
    return [
      {
        title: title === '' ? url : title,
        url,
        siteName: plainLine(result.siteName, SEARCH_SITE_NAME_CHARS_MAX),
        icon: webAddress(result.icon, SEARCH_URL_CHARS_MAX) ?? '',
        ...(publishedAt !== undefined && Number.isFinite(publishedAt) ? { publishedAt } : {}),
        passage,
        ...(isOwn ? { isOwn } : {}),
      },
    ];
  });
}

/**
 * What a provider of a domain says: its own findings, else its results as texts.
 * @param domain Absent: the provider has several, and each of its findings names its own.
 */
export function cleanFindings(found: Found, domain?: string): readonly DomainFinding[] {
  if (domain === undefined)
    return found.findings.slice(0, SEARCH_FINDINGS_MAX).flatMap((finding) => {
      const text = plainText(finding.text, SEARCH_FINDING_CHARS_MAX);
      const tag = plainLine(finding.domain, SEARCH_SITE_NAME_CHARS_MAX);
      return text === '' || tag === '' ? [] : [{ domain: tag, text }];
    });
  const own = found.findings.slice(0, SEARCH_FINDINGS_MAX).map(({ text }) => plainText(text, SEARCH_FINDING_CHARS_MAX));
  const texts = own.some((text) => text !== '')
    ? own.filter((text) => text !== '')
    : cleanResults(found.results, { isOwn: false }).map(({ title, passage, url }) =>
        cutText([title, passage, url].join('\n'), SEARCH_FINDING_CHARS_MAX),
      );
  return texts.slice(0, SEARCH_FINDINGS_MAX).map((text) => ({ domain, text }));
}

const isOwnAddress = (url: string): boolean => url.length <= SEARCH_URL_CHARS_MAX && INDEX_ADDRESS.test(url);
