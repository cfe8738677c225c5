import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import type { REGIONS } from '../core/region.ts';
import { regionProblems } from './regions.ts';
import { configError, type OriginOf, problemsOf } from './problems.ts';
import { ConfigSchema, type ParsedConfig } from './schema.ts';
import { type DeepReadonly, deepFreeze, type Tree } from './tree.ts';

type ParsedRegion = NonNullable<ParsedConfig['regions'][keyof typeof REGIONS]>;

/** The effective configuration, whole and frozen. Read by the service and the commands only. */
export type Config = DeepReadonly<ReturnType<typeof complete>>;

/** @throws ServiceError `invalid-request` with all problems. */
export function parseConfig(tree: Tree, originOf: OriginOf, cores = availableParallelism()): Config {
  const parsed = ConfigSchema.safeParse(tree);
  if (!parsed.success) throw configError(problemsOf(parsed.error, ConfigSchema), tree, originOf);
  const config = complete(parsed.data, cores);
  const problems = regionProblems(config);
  if (problems.length > 0) throw configError(problems, tree, originOf);
  return deepFreeze(config);
}

/** Defaults that follow from other settings. */
function complete(parsed: ParsedConfig, cores: number) {
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
    // Worker threads spin while they wait: with a busy neighbour on their core the whole engine stands still.
    engine: { ...engine, threads: engine.threads ?? Math.max(1, cores - 1) },
    speech: { ...parsed.speech, sessionsMax: parsed.speech.sessionsMax ?? cores },
    operatorTokenFile: parsed.operatorTokenFile ?? join(data, 'operator-token'),
    /** Where the first key's secret is kept. */
    keyFile: join(data, 'key'),
    store: { url: `sqlite:${resolve(data, file)}` },
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
