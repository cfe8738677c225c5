import type { SearchQuery } from '../../core/server-tools.ts';
import { createSiteMatcher } from '../../core/site-filter.ts';
import type { SearchResult } from './clean-results.ts';

const DAY_MS = 86_400_000;

/** Tolerance for clocks of other machines that are ahead. */
const CLOCK_SKEW_MS = DAY_MS;

/** Creates a filter that enforces the sites and the freshness of a query on results of any provider. */
export function createResultFilter(
  { freshnessDays, ...sites }: Pick<SearchQuery, 'sites' | 'blockedSites' | 'freshnessDays'>,
  now: number,
): (result: SearchResult) => boolean {
  const matchesSites = createSiteMatcher(sites);
  return ({ url, publishedAt }) => {
    if (!matchesSites(url)) return false;
    if (freshnessDays === undefined) return true;
    // A result without a date cannot be known to be fresh.
    if (publishedAt === undefined) return false;
    return publishedAt >= now - freshnessDays * DAY_MS && publishedAt <= now + CLOCK_SKEW_MS;
  };
}
