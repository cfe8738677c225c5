import { z } from 'zod';
import { SEARCH_SITES_MAX } from '../limits.ts';
import { failFastArray } from '../fail-fast-array.ts';

/** A host name alone: no scheme, port, path or wildcard. */
const BARE_HOST = /^[^\s/\\:@?#*%[\]]+$/;

/** Returns a host name in lower case and punycode; undefined if the text is not a host name. */
export function normalizeHostName(text: string): string | undefined {
  if (!BARE_HOST.test(text)) return undefined;
  const { hostname } = URL.parse(`http://${text}/`) ?? {};
  return hostname === undefined || hostname === '' ? undefined : hostname;
}

/** List of hosts that search results may, or may not, come from; each includes its subdomains. */
export const HostNameList = failFastArray(
  z.string().transform((text, context): string => {
    const host = normalizeHostName(text);
    if (host !== undefined) return host;
    context.issues.push({
      code: 'custom',
      input: text,
      message: 'must be a host such as example.com, without scheme, port or path',
    });
    return z.NEVER;
  }),
  { max: SEARCH_SITES_MAX },
);
