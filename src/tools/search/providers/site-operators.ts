import type { SearchQuery } from '../../../core/server-tools.ts';
import { hostOfSite } from '../../../core/site-rules.ts';

/** Ours: hosts that a query names as operators. More would make it too long for most services, and ours is held to them anyway. */
const HOSTS_MAX = 8;

/** A query with `site:` operators, as most search engines know them, cut where the service takes no more. */
export function withSiteOperators(
  { text, sites = [], blockedSites = [] }: Pick<SearchQuery, 'text' | 'sites' | 'blockedSites'>,
  charsMax: number,
): string {
  const wanted = hostsOf(sites).map((host) => `site:${host}`);
  const blocked = hostsOf(blockedSites).map((host) => `-site:${host}`);
  const one = wanted.length > 1 ? `(${wanted.join(' OR ')})` : wanted.join('');
  const operators = [one, ...blocked].filter((operator) => operator !== '').join(' ');
  if (operators === '' || operators.length > charsMax / 2) return text.slice(0, charsMax);
  return `${text.slice(0, charsMax - operators.length - 1)} ${operators}`;
}

const hostsOf = (sites: readonly string[]): readonly string[] =>
  sites.length > HOSTS_MAX ? [] : sites.flatMap((site) => hostOfSite(site) ?? []);
