import type { Config } from '../config/config.ts';
import { hostRulesOf, listenersOf } from '../config/regions.ts';
import type { Listener as ConfiguredListener, RegionConfig } from '../config/regions.ts';
import type { RegionId } from '../core/region.ts';

/** A region that a socket leads to, and the host names that do. */
export interface ReachedRegion {
  readonly id: RegionId;
  readonly hosts: readonly { readonly pattern: string; readonly isDeprecated: boolean }[];
}

/** Listeners and host rules in http's words. */
export function addressesOf(config: Config, { isShared }: { isShared: boolean }) {
  return {
    listeners: listenersOf(config).map(({ host, port, fallback: { id, deprecated } }) => ({
      host,
      port,
      region: id,
      isShared,
      ...toDeprecation(deprecated),
    })),
    hosts: hostRulesOf(config).map(({ pattern, id, deprecated }) => ({
      pattern,
      region: id,
      ...toDeprecation(deprecated),
    })),
  };
}

const toDeprecation = (deprecated: RegionConfig['deprecated']) =>
  deprecated
    ? { deprecated: { since: Math.floor(Date.parse(deprecated.since) / 1000), successor: deprecated.link } }
    : {};

/** An address that stands for all of a machine is none to call. */
export const reachableAs = (url: string): string => url.replace(/\/\/(?:0\.0\.0\.0|\[::\]):/, '//localhost:');

/** The regions of a socket in the order of the configuration, each with the names that lead to it; those to go are last. */
export function reachedBy(listener: ConfiguredListener | undefined, config: Config): readonly ReachedRegion[] {
  const rules = hostRulesOf(config).toSorted((one, other) => Number(!!one.deprecated) - Number(!!other.deprecated));
  return (listener?.regions ?? []).map(({ id }) => ({
    id,
    hosts: rules
      .filter((rule) => rule.id === id)
      .map(({ pattern, deprecated }) => ({ pattern, isDeprecated: deprecated !== undefined })),
  }));
}
