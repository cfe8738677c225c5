import { getLoadedAdapters, type ModelEntry } from '../catalogue/model.ts';
import type { Weights } from '../core/weights.ts';
import { describeFolder, describeSource } from '../weights/weights-files.ts';
import { listStoredIds } from '../weights/split-weights.ts';
import type { WeightsStore } from '../weights/weights-store.ts';

/** How content was verified, the least certain first. */
const VERIFICATIONS = ['none', 'announced', 'catalogue'] as const;

/** Returns what `models list` and `models show` print about weights; `path` is null unless they are on this machine. */
export async function describeWeights(weights: Weights, store: WeightsStore) {
  const status = await store.inspect(weights);
  const path = status.state === 'present' ? status.path : undefined;
  const ids = listStoredIds(weights);
  const records = (await store.list()).filter(({ id }) => path !== undefined && ids.includes(id));
  const hashes = records.map(({ sha256 }) => sha256);
  return {
    id: weights.id,
    sizeBytes:
      records.length > 0 ? records.reduce((sum, each) => sum + each.sizeBytes, 0) : (weights.sizeBytes ?? null),
    licence: weights.licence,
    path: path ?? null,
    /** Why content on this machine is not used; null when it is, or when there is none. */
    problem: status.state === 'refused' ? `${status.path}: ${status.problem}` : null,
    /** One hash, or a list for a split file. */
    sha256: hashes.length > 1 ? hashes : (hashes[0] ?? null),
    verified: VERIFICATIONS.find((each) => records.some(({ verified }) => verified === each)) ?? null,
    sources: weights.folder ? [describeFolder(weights.folder)] : weights.sources.map(describeSource),
  };
}

export type WeightsDescription = Awaited<ReturnType<typeof describeWeights>>;

/** Describes in one line what runs a model. */
export function describeRunner(entry: Pick<ModelEntry, 'name' | 'runner'>): string {
  const { name, runner } = entry;
  const adapter = getLoadedAdapters(entry).find((each) => each.name === name);
  const scale = adapter?.scale === undefined ? '' : ` (scale ${adapter.scale})`;
  const withAdapter = adapter ? ` with ${adapter.path}${scale}` : '';
  switch (runner.type) {
    case 'weights':
      return `${runner.weights}${withAdapter}`;
    case 'onnx':
      return runner.weights;
    case 'upstream':
      return `${runner.remote.model} at ${runner.addresses.join(', ')}`;
    case 'program':
      return `${runner.weights ?? runner.remote.model}${withAdapter} in ${[runner.program.command].flat().join(' ')}`;
    case 'none':
      return `none: ${runner.reason}`;
  }
}
