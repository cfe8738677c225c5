import type { ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import { getRunnerOptions, type Runner } from './runner.ts';

const getReason = (entry: ModelEntry): string => getRunnerOptions(entry, 'none').reason;

/** Refuses entries that are declared without an engine, with the reason that they give. */
export const NONE_RUNNER: Runner = {
  parts: [],
  getKey: () => 'none',
  async lease(entry) {
    throw new ServiceError('unsupported', `${entry.name}: ${getReason(entry)}`, { param: 'model' });
  },
  getState: async (entry) => ({ state: 'off', reason: getReason(entry) }),
};
