import { getLoadedAdapters, type ModelEntry } from '../catalogue/model.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import type { LlamaProcessArguments } from '../engines/llama/protocol.ts';

/** Returns the options of the embedded engine for the adapter and the drafts of an entry. */
export function getProcessOptions(
  entry: Pick<ModelEntry, 'runner'>,
): Pick<LlamaProcessArguments, 'adapter' | 'draftTokens'> {
  const [adapter] = getLoadedAdapters(entry);
  return {
    ...(adapter ? { adapter: { file: adapter.path, scale: adapter.scale ?? 1 } } : {}),
    ...omitNullish({ draftTokens: getDraftTokens(entry) }),
  };
}

/** Returns the most tokens of an evaluation that are predicted for an entry of local weights. */
export const getDraftTokens = ({ runner }: Pick<ModelEntry, 'runner'>): number | undefined =>
  runner.type === 'weights' ? runner.draftTokens : undefined;

/** Returns the part of an engine's key for the adapters that it loads: empty without adapters. */
export const formatAdapters = (entry: Pick<ModelEntry, 'runner'>): string =>
  getLoadedAdapters(entry)
    .map(({ path, scale }) => JSON.stringify([path, scale]))
    .join(' ');
