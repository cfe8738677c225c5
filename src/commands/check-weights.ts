import { join } from 'node:path';
import type { FolderFile, Weights, WeightsFolder } from '../core/weights.ts';
import { hashFile } from '../weights/hash-file.ts';
import { listStoredIds } from '../weights/split-weights.ts';
import { getWeightsFiles } from '../weights/weights-files.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import { statIfExists } from '../weights/file-system.ts';
import type { CheckReport, ReportCheckedBytes } from './check-problem.ts';

export interface CheckWeightsDeps {
  readonly weights: readonly Weights[];
  readonly store: Pick<WeightsStore, 'list'>;
  readonly modelsFolder: string;
  readonly report: CheckReport;
  readonly onBytes: ReportCheckedBytes;
}

interface ExpectedFile {
  readonly id: string;
  readonly path: string;
  readonly sizeBytes: number;
  /** SHA-256 that the content may have. */
  readonly hashes: readonly string[];
}

/**
 * Hashes all weights in the models folder, and compares them with the catalogue or, where it states no hash, with the
 * record of the download. @returns the number of files.
 */
export async function checkWeights(deps: CheckWeightsDeps): Promise<number> {
  const files = await listExpectedFiles(deps);
  for (const { id, path, sizeBytes, hashes } of files) {
    const sha256 = (await hashFile(path)).digest('hex');
    deps.onBytes('weights', sizeBytes);
    if (hashes.includes(sha256)) continue;
    deps.report.problems.push({
      area: 'weights',
      subject: path,
      problem: `its SHA-256 is ${sha256} instead of ${hashes.join(' or ')}`,
      action: `Stop the service, run \`parley models rm ${id}\` and \`parley models pull ${id}\`.`,
    });
  }
  return files.length;
}

/** Returns the bytes that `checkWeights` reads. */
export const countWeightsBytes = async (deps: CheckWeightsDeps): Promise<number> =>
  (await listExpectedFiles(deps)).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

async function listExpectedFiles({ weights, store, modelsFolder }: CheckWeightsDeps): Promise<readonly ExpectedFile[]> {
  const records = await store.list();
  const files: ExpectedFile[] = [];
  for (const each of weights) {
    const { id, folder } = each;
    const candidates = folder
      ? listFolderFiles(folder).map(({ name, sha256 }) => ({
          path: join(getWeightsFiles(modelsFolder, id).folder, name),
          hashes: [sha256],
        }))
      : records
          .filter((record) => listStoredIds(each).includes(record.id))
          .map(({ path, sha256 }) => ({ path, hashes: listKnownHashes(each) ?? [sha256] }));
    for (const { path, hashes } of candidates) {
      const stats = await statIfExists(path);
      if (stats?.isFile()) files.push({ id, path, sizeBytes: stats.size, hashes });
    }
  }
  return files;
}

const listFolderFiles = ({ files, conversion }: WeightsFolder): readonly FolderFile[] => [
  ...files,
  ...(conversion?.files ?? []),
];

/** Returns the hashes of the catalogue; undefined if it does not state that of every source. */
function listKnownHashes({ sources }: Weights): readonly string[] | undefined {
  const hashes = sources.map((source) => {
    if (source.type === 'file') return undefined;
    return source.type === 'hub' ? (source.partHashes ?? source.sha256) : source.sha256;
  });
  return hashes.every((each) => each !== undefined) ? hashes.flat() : undefined;
}
