import type { SearchQuery } from '../../../core/server-tools.ts';
import { parseSiteHost } from '../../../core/site-filter.ts';

/**
 * Chosen: maximum number of hosts in a query. Longer queries exceed the limits of most services; results are filtered.
 */
const HOSTS_MAX = 8;

/** Adds `site:` operators, which most search engines support, to a query, truncated to the limit of the service. */
export function addSiteOperators(
  { text, sites = [], blockedSites = [] }: Pick<SearchQuery, 'text' | 'sites' | 'blockedSites'>,
  charsMax: number,
): string {
  const included = parseHosts(sites).map((host) => `site:${host}`);
  const blocked = parseHosts(blockedSites).map((host) => `-site:${host}`);
  const inclusion = included.length > 1 ? `(${included.join(' OR ')})` : included.join('');
  const operators = [inclusion, ...blocked].filter((operator) => operator !== '').join(' ');
  if (operators === '' || operators.length > charsMax / 2) return text.slice(0, charsMax);
  return `${text.slice(0, charsMax - operators.length - 1)} ${operators}`;
}

const parseHosts = (sites: readonly string[]): readonly string[] =>
  sites.length > HOSTS_MAX ? [] : sites.flatMap((site) => parseSiteHost(site) ?? []);
