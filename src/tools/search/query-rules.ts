import type { SearchQuery } from '../../core/server-tools.ts';
import type { SearchResult } from './clean-found.ts';

const DAY_MS = 86_400_000;

/** Clocks of other machines may be ahead. */
const AHEAD_MS = DAY_MS;

/** What a query demands of each result, whatever the provider that found it makes of it. */
export function createQueryRules(
  { sites, blockedSites = [], freshnessDays }: Pick<SearchQuery, 'sites' | 'blockedSites' | 'freshnessDays'>,
  now: number,
): (result: SearchResult) => boolean {
  const wanted = sites?.map(hostOfSite);
  const blocked = blockedSites.map(hostOfSite);
  return ({ url, publishedAt }) => {
    const host = hostOf(url);
    if (wanted && !wanted.some((site) => isWithin(host, site))) return false;
    if (blocked.some((site) => isWithin(host, site))) return false;
    if (freshnessDays === undefined) return true;
    // Of what has no date nobody can say that it is new.
    if (publishedAt === undefined) return false;
    return publishedAt >= now - freshnessDays * DAY_MS && publishedAt <= now + AHEAD_MS;
  };
}

/** A host as callers write it: `Example.com`, `*.example.com`, `https://example.com/`. Undefined where it is none. */
export function hostOfSite(site: string): string | undefined {
  const text = site.trim().replace(/^\*?\./, '');
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `http://${text}`);
  return url === null || url.hostname === '' ? undefined : url.hostname.replace(/\.+$/, '');
}

/** A site and all below it. */
const isWithin = (host: string | undefined, site: string | undefined): boolean =>
  host !== undefined && site !== undefined && (host === site || host.endsWith(`.${site}`));

function hostOf(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed && /^https?:$/.test(parsed.protocol) ? parsed.hostname.replace(/\.+$/, '') : undefined;
}
