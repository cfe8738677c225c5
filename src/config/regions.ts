import { REGION_IDS, type RegionId } from '../core/region.ts';
import type { Config } from './config.ts';
import type { Problem } from './problems.ts';

export type RegionConfig = NonNullable<Config['regions'][RegionId]>;

type Regions = Pick<Config, 'regions'>;

/** One socket to listen on, and the regions that are reached by it. */
export interface Listener {
  readonly host: string;
  readonly port: number;
  readonly regions: readonly { readonly id: RegionId; readonly region: RegionConfig }[];
  /** What a request is for whose host no rule fits. */
  readonly fallback: { readonly id: RegionId; readonly deprecated: RegionConfig['deprecated'] };
}

/** A host name that leads to a region; `{workspace}` may stand in it, `{region}` no more. */
export interface HostRule {
  readonly pattern: string;
  readonly id: RegionId;
  readonly deprecated: RegionConfig['deprecated'];
}

/** In the order of the configuration. On port 0 every region without host names gets a socket of its own. */
export function listenersOf(config: Regions): readonly Listener[] {
  const named = namedRegions(config);
  const regionsAt = Map.groupBy(regionsOf(config), ([id, { host, port }]) =>
    port === 0 && !named.has(id) ? id : `${host} ${port}`,
  );
  return [...regionsAt.values()].flatMap((regions) => {
    const own = regions.find(([id]) => !named.has(id)) ?? regions[0];
    if (!own) return [];
    const [id, { host, port }] = own;
    return {
      host,
      port,
      regions: regions.map(([each, region]) => ({ id: each, region })),
      fallback: { id, deprecated: deprecatedAsWhole(own[1]) },
    };
  });
}

export function regionsOf({ regions }: Regions): readonly (readonly [RegionId, RegionConfig])[] {
  return REGION_IDS.flatMap((id) => (regions[id] ? [[id, regions[id]] as const] : []));
}

/**
 * What host names say, the first that fits decides: a whole name before one with placeholders, a named region before
 * `{region}`. That one stands for each region of the configuration, whichever it is written under.
 */
export function hostRulesOf(config: Regions): readonly HostRule[] {
  const all = regionsOf(config);
  const ranked = all.flatMap(([own, { hosts, deprecatedHosts, deprecated }]) => {
    const expand = (pattern: string, says: (region: RegionConfig) => RegionConfig['deprecated']) => {
      const isOpen = pattern.includes('{region}');
      const rank = (pattern.includes('{workspace}') ? 2 : 0) + (isOpen ? 1 : 0);
      return all
        .filter(([id]) => isOpen || id === own)
        .map(([id, region]) => {
          const rule: HostRule = { pattern: pattern.replace('{region}', id), id, deprecated: says(region) };
          return { rank, rule };
        });
    };
    return [
      ...deprecatedHosts.flatMap((pattern) => expand(pattern, () => deprecated)),
      ...hosts.flatMap((pattern) => expand(pattern, deprecatedAsWhole)),
    ];
  });
  return ranked.toSorted((one, other) => one.rank - other.rank).map(({ rule }) => rule);
}

/** What the shape of a single region cannot say. */
export function regionProblems(config: Regions): Problem[] {
  const problems: Problem[] = [];
  for (const [id, region] of regionsOf(config)) {
    if (region.deprecatedHosts.length === 0 || region.deprecated) continue;
    problems.push({
      path: ['regions', id, 'deprecated'],
      rule: 'must say since when, and where callers read more, because there are deprecatedHosts',
      showsValue: false,
    });
  }
  const named = namedRegions(config);
  for (const { host, port, regions } of listenersOf(config)) {
    for (const { id } of regions.filter((each) => !named.has(each.id)).slice(1)) {
      problems.push({
        path: ['regions', id, 'hosts'],
        rule: `must tell this region from another one on ${host}:${port}; or give it a port of its own`,
        showsValue: false,
      });
    }
  }
  return problems;
}

/** The regions that some host name leads to: any of its own, or one with `{region}`, which leads to all. */
function namedRegions(config: Regions): ReadonlySet<RegionId> {
  const all = regionsOf(config);
  const isOpen = all.some(([, { hosts }]) => hosts.some((pattern) => pattern.includes('{region}')));
  return new Set(all.filter(([, { hosts }]) => isOpen || hosts.length > 0).map(([id]) => id));
}

/** Where no deprecated hosts are named, every address of the region is meant. */
const deprecatedAsWhole = ({ deprecatedHosts, deprecated }: RegionConfig): RegionConfig['deprecated'] =>
  deprecatedHosts.length === 0 ? deprecated : undefined;
