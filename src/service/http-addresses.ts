import type { Config } from '../config/config.ts';
import {
  createHostRules,
  createListenerConfigs,
  type ListenerConfig as ConfiguredListener,
  type RegionConfig,
} from '../config/regions.ts';
import type { RegionId } from '../core/region.ts';

/** A region that a listener serves, with the host names that select it. */
export interface ReachableRegion {
  readonly id: RegionId;
  readonly hosts: readonly { readonly pattern: string; readonly isDeprecated: boolean }[];
}

/** Returns the listeners and host rules of the configuration in the form that the HTTP server takes. */
export function buildHttpAddresses(config: Config, { isShared }: { isShared: boolean }) {
  return {
    listeners: createListenerConfigs(config).map(({ host, port, fallback: { id, deprecated } }) => ({
      host,
      port,
      region: id,
      isShared,
      ...toDeprecation(deprecated),
    })),
    hosts: createHostRules(config).map(({ pattern, id, deprecated }) => ({
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

/** Replaces a wildcard address (0.0.0.0 or [::]) in a URL by localhost, because clients cannot connect to a wildcard. */
export const toReachableUrl = (url: string): string => url.replace(/\/\/(?:0\.0\.0\.0|\[::\]):/, '//localhost:');

/** Lists the regions of a listener in configuration order, each with the host names that select it; deprecated names last. */
export function listReachableRegions(
  listener: ConfiguredListener | undefined,
  config: Config,
): readonly ReachableRegion[] {
  const rules = createHostRules(config).toSorted((one, other) => Number(!!one.deprecated) - Number(!!other.deprecated));
  return (listener?.regions ?? []).map(({ id }) => ({
    id,
    hosts: rules
      .filter((rule) => rule.id === id)
      .map(({ pattern, deprecated }) => ({ pattern, isDeprecated: deprecated !== undefined })),
  }));
}
