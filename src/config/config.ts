import { join, resolve } from 'node:path';
import type { REGIONS } from '../core/region.ts';
import type { ParsedConfig } from './schema.ts';
import type { DeepReadonly } from './tree.ts';

type ParsedRegion = NonNullable<ParsedConfig['regions'][keyof typeof REGIONS]>;

/** Used when neither the configuration nor npm's own configuration names a registry. */
export const NPM_REGISTRY_DEFAULT = 'https://registry.npmjs.org/';

/** The complete, frozen configuration. Only the service and the commands read it. */
export type Config = DeepReadonly<ReturnType<typeof applyDerivedDefaults>>;

/** Adds defaults that depend on other settings. */
export function applyDerivedDefaults(parsed: ParsedConfig, cores: number) {
  const { data, host, port, regions, engine, store } = parsed;
  const completeRegion = (region: ParsedRegion) => ({
    ...region,
    host: region.host ?? host,
    port: region.port ?? port,
  });
  const file = store.url?.slice('sqlite:'.length) ?? 'parley.db';
  return {
    ...parsed,
    regions: mapValues(regions, completeRegion),
    modelsFolder: parsed.modelsFolder ?? join(data, 'models'),
    enginesFolder: parsed.enginesFolder ?? join(data, 'engines'),
    // One core stays free. Worker threads spin while they wait: other load on one of their cores stalls the whole
    // engine.
    engine: { ...engine, threads: engine.threads ?? Math.max(1, cores - 1) },
    speech: { ...parsed.speech, sessionsMax: parsed.speech.sessionsMax ?? cores },
    operatorTokenFile: parsed.operatorTokenFile ?? join(data, 'operator-token'),
    /** File with the secret of the first key. */
    keyFile: join(data, 'key'),
    store: { ...store, url: `sqlite:${resolve(data, file)}` },
  };
}

function mapValues<Key extends string, Value, Result>(
  values: { readonly [K in Key]?: Value | undefined },
  map: (value: Value) => Result,
): { [K in Key]?: Result } {
  const result: { [K in Key]?: Result } = {};
  for (const key in values) {
    const value = values[key];
    if (value !== undefined) result[key] = map(value);
  }
  return result;
}
