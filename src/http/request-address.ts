import type { RegionId } from '../core/region.ts';

/** A deprecated address. Requests to it are served; every response announces the deprecation. */
export interface AddressDeprecation {
  /** Start of the deprecation in Unix seconds. Sent as `Deprecation: @<seconds>` (RFC 9745). */
  readonly since: number;
  /** Base address of the replacement. Sent as `Link: <…>; rel="successor-version"`. */
  readonly successor: string;
}

export interface Listener {
  readonly host: string;
  /** 0 selects any free port. */
  readonly port: number;
  /** Region of requests whose Host header matches no rule. */
  readonly region: RegionId;
  readonly deprecated?: AddressDeprecation;
  /** True if several processes listen on this port. The operating system distributes new connections among them. */
  readonly isShared?: boolean;
}

/** Maps a Host header to a region, on every listener. */
export interface HostRule {
  /** Host name in which `{workspace}` stands for one label. */
  readonly pattern: string;
  readonly region: RegionId;
  readonly deprecated?: AddressDeprecation;
}

/** The address that a request was sent to. */
export interface RequestAddress {
  readonly region: RegionId;
  /** Workspace label of the host in lower case, if the host has one. It must match the key's workspace. */
  readonly workspace: string | undefined;
  readonly deprecated: AddressDeprecation | undefined;
}

/** Returns a function that resolves the address of a request. The first rule that matches the host decides alone. */
export function createAddressResolver(
  hosts: readonly HostRule[],
): (listener: Listener, host: string | undefined) => RequestAddress {
  const rules = hosts.map((rule) => ({ rule, matcher: compileHostPattern(rule.pattern) }));
  return (listener, host) => {
    const name = normalizeHost(host);
    for (const { rule, matcher } of rules) {
      const match = matcher.exec(name);
      if (!match) continue;
      return { region: rule.region, workspace: match.groups?.['workspace'], deprecated: rule.deprecated };
    }
    return { region: listener.region, workspace: undefined, deprecated: listener.deprecated };
  };
}

/** @throws RangeError if a pattern is not a host name or contains `{workspace}` twice (a configuration error). */
function compileHostPattern(pattern: string): RegExp {
  if (!/^(\{workspace\}|[a-z0-9.-])+$/i.test(pattern))
    throw new RangeError(
      `host pattern ${JSON.stringify(pattern)} is not a host name with an optional {workspace} label`,
    );
  const source = pattern
    .toLowerCase()
    .replaceAll('.', String.raw`\.`)
    .replace('{workspace}', '(?<workspace>[a-z0-9_-]+)');
  if (source.includes('{')) throw new RangeError(`host pattern ${JSON.stringify(pattern)} contains {workspace} twice`);
  return new RegExp(`^${source}$`);
}

/** Removes the port and a trailing dot, which names the same host. */
export function normalizeHost(host: string | undefined): string {
  return (host ?? '').toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
}
