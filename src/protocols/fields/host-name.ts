import { z } from 'zod';
import { SEARCH_SITES_MAX } from '../../core/limits.ts';
import { listOf } from '../list-of.ts';

/** A name and nothing around it: no scheme, port, path or wildcard. */
const BARE = /^[^\s/\\:@?#*%[\]]+$/;

/** The host as it stands in addresses, in lower case and punycode; undefined for what is none. */
export function hostName(text: string): string | undefined {
  if (!BARE.test(text)) return undefined;
  const { hostname } = URL.parse(`http://${text}/`) ?? {};
  return hostname === undefined || hostname === '' ? undefined : hostname;
}

/** Hosts that results may come from, or may not; each with its subdomains. */
export const HostNames = listOf(
  z.string().transform((text, context): string => {
    const host = hostName(text);
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
