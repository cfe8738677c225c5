import type { ModelEntry } from '../catalogue/model.ts';
import type { Weights } from '../core/weights.ts';
import { describeFolder, describeSource } from '../weights/weights-files.ts';
import type { WeightsStore } from '../weights/weights-store.ts';

/** Returns what `models list` and `models show` print about weights; `path` is null unless they are on this machine. */
export async function describeWeights(weights: Weights, store: WeightsStore) {
  const path = await store.locate(weights);
  const record = (await store.list()).find((each) => each.id === weights.id && each.path === path);
  return {
    id: weights.id,
    sizeBytes: record?.sizeBytes ?? weights.sizeBytes ?? null,
    licence: weights.licence,
    path: path ?? null,
    sha256: record?.sha256 ?? null,
    verified: record?.verified ?? null,
    sources: weights.folder ? [describeFolder(weights.folder)] : weights.sources.map(describeSource),
  };
}

/** Describes in one line what runs a model. */
export function describeRunner(runner: ModelEntry['runner']): string {
  switch (runner.type) {
    case 'weights':
    case 'onnx':
      return runner.weights;
    case 'upstream':
      return `${runner.remote.model} at ${runner.addresses.join(', ')}`;
    case 'program':
      return `${runner.weights ?? runner.remote.model} in ${[runner.program.command].flat().join(' ')}`;
    case 'none':
      return `none: ${runner.reason}`;
  }
}
