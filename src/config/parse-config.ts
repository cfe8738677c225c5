import { availableParallelism } from 'node:os';
import { applyDerivedDefaults, type Config } from './config.ts';
import { createConfigError, type GetOrigin, toConfigProblems } from './problems.ts';
import { findRegionProblems } from './regions.ts';
import { ConfigSchema } from './schema.ts';
import { deepFreeze, type ConfigTree } from './tree.ts';

/** Checks the configuration and adds the defaults. @throws ServiceError `invalid-request` with all problems. */
export function parseConfig(tree: ConfigTree, getOrigin: GetOrigin, cores = availableParallelism()): Config {
  const parsed = ConfigSchema.safeParse(tree);
  if (!parsed.success) throw createConfigError(toConfigProblems(parsed.error, ConfigSchema), tree, getOrigin);
  const config = applyDerivedDefaults(parsed.data, cores);
  const problems = findRegionProblems(config);
  if (problems.length > 0) throw createConfigError(problems, tree, getOrigin);
  return deepFreeze(config);
}
