import type { SearchQuery } from '../../core/server-tools.ts';
import { createSiteRules } from '../../core/site-rules.ts';
import type { SearchResult } from './clean-found.ts';

const DAY_MS = 86_400_000;

/** Clocks of other machines may be ahead. */
const AHEAD_MS = DAY_MS;

/** What a query demands of each result, whatever the provider that found it makes of it. */
export function createQueryRules(
  { freshnessDays, ...wish }: Pick<SearchQuery, 'sites' | 'blockedSites' | 'freshnessDays'>,
  now: number,
): (result: SearchResult) => boolean {
  const isOfSites = createSiteRules(wish);
  return ({ url, publishedAt }) => {
    if (!isOfSites(url)) return false;
    if (freshnessDays === undefined) return true;
    // Of what has no date nobody can say that it is new.
    if (publishedAt === undefined) return false;
    return publishedAt >= now - freshnessDays * DAY_MS && publishedAt <= now + AHEAD_MS;
  };
}
