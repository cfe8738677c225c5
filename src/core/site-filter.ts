/** Hosts that results may come from. */
export interface SiteFilter {
  /** Host names; subdomains are included. Present: only these are allowed. */
  readonly sites?: readonly string[] | undefined;
  /** Host names that are never allowed, subdomains included. */
  readonly blockedSites?: readonly string[] | undefined;
}

/**
 * Creates a predicate for URLs. A URL without a host matches no site: `sites` rejects it, `blockedSites` does not.
 * @returns whether results from the URL are allowed.
 */
export function createSiteMatcher({ sites, blockedSites = [] }: SiteFilter): (url: string) => boolean {
  const allowed = sites?.map(parseSiteHost);
  const blocked = blockedSites.map(parseSiteHost);
  return (url) => {
    const host = parseUrlHost(url);
    if (allowed && !allowed.some((site) => isSameOrSubdomain(host, site))) return false;
    return !blocked.some((site) => isSameOrSubdomain(host, site));
  };
}

/**
 * Parses a host as callers write it: `Example.com`, `*.example.com`, `https://example.com/`.
 * @returns undefined if invalid.
 */
export function parseSiteHost(site: string): string | undefined {
  const text = site.trim().replace(/^\*?\./, '');
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `http://${text}`);
  return url === null || url.hostname === '' ? undefined : url.hostname.replace(/\.+$/, '');
}

/** Whether `host` is `site` or one of its subdomains. */
const isSameOrSubdomain = (host: string | undefined, site: string | undefined): boolean =>
  host !== undefined && site !== undefined && (host === site || host.endsWith(`.${site}`));

function parseUrlHost(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed && /^https?:$/.test(parsed.protocol) ? parsed.hostname.replace(/\.+$/, '') : undefined;
}
