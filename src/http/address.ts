import type { RegionId } from '../core/region.ts';

/** An address that is slated to go: served, and every answer says so. */
export interface Deprecation {
  /** Unix seconds since when; `Deprecation: @<seconds>` (RFC 9745). */
  readonly since: number;
  /** Base address to move to; `Link: <…>; rel="successor-version"`. */
  readonly successor: string;
}

export interface Listener {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** What a request is for whose host no rule knows. */
  readonly region: RegionId;
  readonly deprecated?: Deprecation;
  /** Other processes listen on it too, and the system shares new connections out among them. */
  readonly isShared?: boolean;
}

/** What a Host header says about a request, on whichever listener it comes in. */
export interface HostRule {
  /** A host name in which `{workspace}` stands for one label. */
  readonly pattern: string;
  readonly region: RegionId;
  readonly deprecated?: Deprecation;
}

/** Where a request came in. */
export interface Address {
  readonly region: RegionId;
  /** The host's workspace label in lower case, where it has one: it must be the key's. */
  readonly workspace: string | undefined;
  readonly deprecated: Deprecation | undefined;
}

/** Finds the address of a request; the first rule that fits the host decides, and decides alone. */
export function createAddressBook(
  hosts: readonly HostRule[],
): (listener: Listener, host: string | undefined) => Address {
  const rules = hosts.map((rule) => ({ rule, matcher: compile(rule.pattern) }));
  return (listener, host) => {
    const name = hostName(host);
    for (const { rule, matcher } of rules) {
      const match = matcher.exec(name);
      if (!match) continue;
      return { region: rule.region, workspace: match.groups?.['workspace'], deprecated: rule.deprecated };
    }
    return { region: listener.region, workspace: undefined, deprecated: listener.deprecated };
  };
}

/** @throws RangeError for a pattern that names the workspace twice or is no host name: the operator's mistake. */
function compile(pattern: string): RegExp {
  if (!/^(\{workspace\}|[a-z0-9.-])+$/i.test(pattern)) throw new RangeError(`not a host pattern: ${pattern}`);
  const source = pattern
    .toLowerCase()
    .replaceAll('.', String.raw`\.`)
    .replace('{workspace}', '(?<workspace>[a-z0-9_-]+)');
  if (source.includes('{')) throw new RangeError(`the workspace stands twice in ${pattern}`);
  return new RegExp(`^${source}$`);
}

/** Without port; a trailing dot is the same host. */
function hostName(host: string | undefined): string {
  return (host ?? '').toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
}
