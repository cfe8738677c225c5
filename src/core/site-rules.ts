/** Which hosts something may come from. */
export interface SiteWish {
  /** Hosts; with their subdomains. Present: nothing from elsewhere. */
  readonly sites?: readonly string[] | undefined;
  /** Hosts that nothing may come from. */
  readonly blockedSites?: readonly string[] | undefined;
}

/** @returns whether an address is of a wished host. What has no host is of none, and no blocked one either. */
export function createSiteRules({ sites, blockedSites = [] }: SiteWish): (url: string) => boolean {
  const wanted = sites?.map(hostOfSite);
  const blocked = blockedSites.map(hostOfSite);
  return (url) => {
    const host = hostOf(url);
    if (wanted && !wanted.some((site) => isWithin(host, site))) return false;
    return !blocked.some((site) => isWithin(host, site));
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
