import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { formatPartSuffix, listPartFiles } from '../core/split-model-file.ts';
import type { Weights, WeightsFolder } from '../core/weights.ts';
import { statIfExists } from './file-system.ts';
import { identifyContent } from './identify-content.ts';
import { createFolderRefusal, listFolderFiles, locateFolder } from './locate-folder.ts';
import { createRefusal, describeVersion, locateWeights, saveRecord, type LocateDeps } from './locate-weights.ts';
import { hashSamples } from './sample-hash.ts';
import { listParts } from './split-weights.ts';
import { isUnchanged, readWeightsFileRecord, type WeightsFileRecord } from './weights-file-record.ts';
import { getWeightsFiles } from './weights-files.ts';
import type { RefusedWeights } from './weights-status.ts';

/**
 * Result of reading weights completely. `changed`: a file without a known hash has other content than before, with the
 * same size and time. `skipped`: the weights are not present, or a file was written while it was read.
 */
export type Verification =
  | { readonly outcome: 'intact' | 'skipped' }
  | { readonly outcome: 'changed'; readonly path: string }
  | { readonly outcome: 'damaged'; readonly refusal: RefusedWeights };

export interface VerifyDeps extends LocateDeps {
  /** Returns the SHA-256 of a file. */
  readonly hash: (path: string) => Promise<string>;
}

/** Reads all files of present weights, compares them with the known hashes, and records the result. */
export async function verifyWeights(weights: Weights, deps: VerifyDeps): Promise<Verification> {
  if (weights.folder) return await verifyFolder(weights, weights.folder, deps);
  const results: Verification[] = [];
  for (const part of listParts(weights) ?? [weights]) results.push(await verifyFile(part, deps));
  return (
    results.find(({ outcome }) => outcome === 'damaged') ??
    results.find(({ outcome }) => outcome === 'changed') ??
    results.find(({ outcome }) => outcome === 'skipped') ?? { outcome: 'intact' }
  );
}

async function verifyFile(weights: Weights, deps: VerifyDeps): Promise<Verification> {
  const located = await locateWeights(weights, deps);
  if (located.state !== 'present') return { outcome: 'skipped' };
  const { path } = located;
  if (weights.sources.some((source) => source.type === 'file' && source.path === path))
    return await verifyOwnFiles(weights, listPartFiles(path), deps);
  const recordPath = getWeightsFiles(deps.folder, weights.id).record;
  const content = await readUnchanging(path, deps);
  if (!content) return { outcome: 'skipped' };
  const record = await readWeightsFileRecord(recordPath);
  const identity = identifyContent(weights, content.sha256, record);
  if (identity) {
    await saveRecord(recordPath, { ...identity, ...content.record }, deps.log);
    return record && record.sha256 !== content.sha256 && identity.verified === 'none'
      ? { outcome: 'changed', path }
      : { outcome: 'intact' };
  }
  const refusal = createRefusal(path, content.sha256);
  deps.results.set(path, describeVersion(weights, content.stats), refusal);
  if (record) await saveRecord(recordPath, { ...record, isDamaged: true }, deps.log);
  return { outcome: 'damaged', refusal };
}

/** Compares files that the operator named with the hashes of their first check, which it records. */
async function verifyOwnFiles(weights: Weights, paths: readonly string[], deps: VerifyDeps): Promise<Verification> {
  let result: Verification = { outcome: 'intact' };
  for (const [at, path] of paths.entries()) {
    const suffix = paths.length > 1 ? formatPartSuffix(at + 1, paths.length) : '';
    const recordPath = getWeightsFiles(deps.folder, `${weights.id}${suffix}`).record;
    const content = await readUnchanging(path, deps);
    if (!content) return { outcome: 'skipped' };
    const record = await readWeightsFileRecord(recordPath);
    await saveRecord(recordPath, { source: `file ${path}`, verified: 'none', ...content.record }, deps.log);
    const isSameFile = record?.path === path && isUnchanged(record, content.stats);
    if (isSameFile && record.sha256 !== content.sha256) result = { outcome: 'changed', path };
  }
  return result;
}

async function verifyFolder(weights: Weights, folder: WeightsFolder, deps: VerifyDeps): Promise<Verification> {
  const located = await locateFolder(weights, folder, deps);
  if (located.state !== 'present') return { outcome: 'skipped' };
  const recordPath = getWeightsFiles(deps.folder, weights.id).folderRecord;
  for (const { name, sha256 } of listFolderFiles(folder)) {
    const content = await readUnchanging(join(located.path, name), deps);
    if (!content) return { outcome: 'skipped' };
    if (content.sha256 === sha256) continue;
    const record = await readWeightsFileRecord(recordPath);
    if (record) await saveRecord(recordPath, { ...record, isDamaged: true }, deps.log);
    return { outcome: 'damaged', refusal: createFolderRefusal(located.path, name) };
  }
  return { outcome: 'intact' };
}

interface ReadContent {
  readonly stats: Stats;
  readonly sha256: string;
  readonly record: Pick<WeightsFileRecord, 'path' | 'sizeBytes' | 'mtimeMs' | 'sha256' | 'samplesSha256'>;
}

/** Hashes a file. Returns undefined when it is gone or was written meanwhile: the hash then belongs to no version. */
async function readUnchanging(path: string, { hash }: Pick<VerifyDeps, 'hash'>): Promise<ReadContent | undefined> {
  const before = await statIfExists(path);
  if (!before) return undefined;
  const [sha256, samplesSha256] = [await hash(path), await hashSamples(path)];
  const stats = await statIfExists(path);
  if (!stats || stats.ctimeMs !== before.ctimeMs || stats.ino !== before.ino) return undefined;
  const { size: sizeBytes, mtimeMs } = stats;
  return { stats, sha256, record: { path, sizeBytes, mtimeMs, sha256, samplesSha256 } };
}
