import { getLoadedAdapters, type ModelEntry } from '../catalogue/model.ts';
import type { LlamaProcessArguments } from '../engines/llama/protocol.ts';

/** Returns the option of the embedded engine for the adapter of an entry. */
export function getProcessAdapter(entry: Pick<ModelEntry, 'runner'>): Pick<LlamaProcessArguments, 'adapter'> {
  const [adapter] = getLoadedAdapters(entry);
  return adapter ? { adapter: { file: adapter.path, scale: adapter.scale ?? 1 } } : {};
}

/** Returns the part of an engine's key for the adapters that it loads: empty without adapters. */
export const formatAdapters = (entry: Pick<ModelEntry, 'runner'>): string =>
  getLoadedAdapters(entry)
    .map(({ path, scale }) => JSON.stringify([path, scale]))
    .join(' ');
