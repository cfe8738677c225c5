import { REGION_IDS, type RegionId } from '../core/region.ts';
import type { Config } from './config.ts';
import type { Problem } from './problems.ts';

export type RegionConfig = NonNullable<Config['regions'][RegionId]>;

/** One socket to listen on, and the regions that are reached by it. */
export interface Listener {
  readonly host: string;
  readonly port: number;
  /** At most one has no `hosts`: it takes what no other region's pattern matches. */
  readonly regions: readonly { readonly id: RegionId; readonly region: RegionConfig }[];
}

/** In the order of the configuration. On port 0 every region without host names gets a socket of its own. */
export function listenersOf(config: Pick<Config, 'regions'>): readonly Listener[] {
  const listeners = new Map<string, Listener & { regions: Listener['regions'][number][] }>();
  for (const [id, region] of regionsOf(config)) {
    const { host, port } = region;
    const name = port === 0 && region.hosts.length === 0 ? id : `${host} ${port}`;
    const listener = listeners.get(name) ?? { host, port, regions: [] };
    listener.regions.push({ id, region });
    listeners.set(name, listener);
  }
  return [...listeners.values()];
}

export function regionsOf({ regions }: Pick<Config, 'regions'>): readonly (readonly [RegionId, RegionConfig])[] {
  return REGION_IDS.flatMap((id) => (regions[id] ? [[id, regions[id]] as const] : []));
}

/** What the shape of a single region cannot say. */
export function regionProblems(config: Pick<Config, 'regions'>): Problem[] {
  const problems: Problem[] = [];
  for (const [id, region] of regionsOf(config)) {
    if (region.deprecatedHosts.length === 0 || region.deprecated) continue;
    problems.push({
      path: ['regions', id, 'deprecated'],
      rule: 'must say since when, and where callers read more, because there are deprecatedHosts',
      showsValue: false,
    });
  }
  for (const { host, port, regions } of listenersOf(config)) {
    for (const { id } of regions.filter(({ region }) => region.hosts.length === 0).slice(1)) {
      problems.push({
        path: ['regions', id, 'hosts'],
        rule: `must tell this region from another one on ${host}:${port}; or give it a port of its own`,
        showsValue: false,
      });
    }
  }
  return problems;
}
