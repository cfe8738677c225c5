import { REGION_IDS, type RegionId } from '../core/region.ts';
import type { Config } from './config.ts';
import type { ConfigProblem } from './problems.ts';

export type RegionConfig = NonNullable<Config['regions'][RegionId]>;

type Regions = Pick<Config, 'regions'>;

/** A socket to listen on, and the regions that are reachable there. */
export interface ListenerConfig {
  readonly host: string;
  readonly port: number;
  readonly regions: readonly { readonly id: RegionId; readonly region: RegionConfig }[];
  /** Region of a request whose host name matches no rule. */
  readonly fallback: { readonly id: RegionId; readonly deprecated: RegionConfig['deprecated'] };
}

/** A host name of a region. It may contain `{workspace}`; `{region}` is already expanded. */
export interface RegionHostRule {
  readonly pattern: string;
  readonly id: RegionId;
  readonly deprecated: RegionConfig['deprecated'];
}

/**
 * Groups the regions by host and port, in the order of the configuration. For port 0, a region without host names is
 * alone.
 */
export function createListenerConfigs(config: Regions): readonly ListenerConfig[] {
  const named = findNamedRegions(config);
  const regionsAt = Map.groupBy(listRegions(config), ([id, { host, port }]) =>
    port === 0 && !named.has(id) ? id : `${host} ${port}`,
  );
  return [...regionsAt.values()].flatMap((regions) => {
    const defaultRegion = regions.find(([id]) => !named.has(id)) ?? regions[0];
    if (!defaultRegion) return [];
    const [id, { host, port }] = defaultRegion;
    return {
      host,
      port,
      regions: regions.map(([each, region]) => ({ id: each, region })),
      fallback: { id, deprecated: getRegionDeprecation(defaultRegion[1]) },
    };
  });
}

export function listRegions({ regions }: Regions): readonly (readonly [RegionId, RegionConfig])[] {
  return REGION_IDS.flatMap((id) => (regions[id] ? [[id, regions[id]] as const] : []));
}

/**
 * Creates the rules that map host names to regions; the first match applies. Exact names precede names with
 * placeholders, and named regions precede `{region}`, which stands for each configured region, wherever it is written.
 */
export function createHostRules(config: Regions): readonly RegionHostRule[] {
  const all = listRegions(config);
  const ranked = all.flatMap(([ownerId, { hosts, deprecatedHosts, deprecated }]) => {
    const expand = (pattern: string, getDeprecation: (region: RegionConfig) => RegionConfig['deprecated']) => {
      const hasRegionPlaceholder = pattern.includes('{region}');
      const rank = (pattern.includes('{workspace}') ? 2 : 0) + (hasRegionPlaceholder ? 1 : 0);
      return all
        .filter(([id]) => hasRegionPlaceholder || id === ownerId)
        .map(([id, region]) => {
          const rule: RegionHostRule = {
            pattern: pattern.replace('{region}', id),
            id,
            deprecated: getDeprecation(region),
          };
          return { rank, rule };
        });
    };
    return [
      ...deprecatedHosts.flatMap((pattern) => expand(pattern, () => deprecated)),
      ...hosts.flatMap((pattern) => expand(pattern, getRegionDeprecation)),
    ];
  });
  return ranked.toSorted((one, other) => one.rank - other.rank).map(({ rule }) => rule);
}

/** Finds problems that the schema of a single region cannot detect. */
export function findRegionProblems(config: Regions): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  for (const [id, region] of listRegions(config)) {
    if (region.deprecatedHosts.length === 0 || region.deprecated) continue;
    problems.push({
      path: ['regions', id, 'deprecated'],
      rule: 'must have since and link, because the region has deprecatedHosts',
      showsValue: false,
    });
  }
  const named = findNamedRegions(config);
  for (const { host, port, regions } of createListenerConfigs(config)) {
    for (const { id } of regions.filter((each) => !named.has(each.id)).slice(1)) {
      problems.push({
        path: ['regions', id, 'hosts'],
        rule: `must distinguish this region from another one on ${host}:${port}; or give the region its own port`,
        showsValue: false,
      });
    }
  }
  return problems;
}

/** Finds the regions with host names: their own, or a name with `{region}`, which names every region. */
function findNamedRegions(config: Regions): ReadonlySet<RegionId> {
  const all = listRegions(config);
  const hasRegionPlaceholder = all.some(([, { hosts }]) => hosts.some((pattern) => pattern.includes('{region}')));
  return new Set(all.filter(([, { hosts }]) => hasRegionPlaceholder || hosts.length > 0).map(([id]) => id));
}

/** Returns the deprecation of the whole region. Undefined if only its deprecatedHosts are deprecated. */
const getRegionDeprecation = ({ deprecatedHosts, deprecated }: RegionConfig): RegionConfig['deprecated'] =>
  deprecatedHosts.length === 0 ? deprecated : undefined;
