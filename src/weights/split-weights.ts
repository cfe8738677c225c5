import { formatPartSuffix, listPartFiles, parsePartName } from '../core/split-model-file.ts';
import type { Weights } from '../core/weights.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { locateWeights, type LocateDeps } from './locate-weights.ts';
import type { WeightsStatus } from './weights-status.ts';

/**
 * Returns the parts of weights whose file on the hub is split, as weights of their own: each is downloaded, verified and
 * recorded separately. In the models folder they have the names that llama.cpp expects. Returns undefined for other
 * weights.
 */
export function listParts(weights: Weights): readonly Weights[] | undefined {
  const source = weights.sources.find(({ type }) => type === 'hub');
  const files = source?.type === 'hub' ? listPartFiles(source.file) : [];
  if (source?.type !== 'hub' || files.length < 2) return undefined;
  const { sizeBytes: _, ...common } = weights;
  const { partHashes, ...hub } = source;
  return files.map((file, at) => ({
    ...common,
    id: `${weights.id}${formatPartSuffix(at + 1, files.length)}`,
    sources: [{ ...hub, file, ...omitNullish({ sha256: partHashes?.[at] }) }],
  }));
}

/** Returns the ids under which weights are stored: those of their parts, or their own. */
export const listStoredIds = (weights: Weights): readonly string[] =>
  listParts(weights)?.map(({ id }) => id) ?? [weights.id];

/**
 * Finds the parts of split weights. They are present, at the path of the first, if all of them are in one folder under
 * names that belong together.
 */
export async function locateParts(
  parts: readonly Weights[],
  deps: LocateDeps,
  signal?: AbortSignal,
): Promise<WeightsStatus> {
  const paths: string[] = [];
  for (const part of parts) {
    const status = await locateWeights(part, deps, signal);
    if (status.state !== 'present') return status;
    paths.push(status.path);
  }
  const [first = ''] = paths;
  const isTogether = listPartFiles(first).every((path, at) => path === paths[at]);
  return isTogether && parsePartName(first) ? { state: 'present', path: first } : { state: 'missing' };
}
