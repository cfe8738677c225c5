import { mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMap, isScalar, parseDocument } from 'yaml';
import { ServiceError } from '../core/error.ts';
import { replaceFile } from '../lib/durable-file.ts';
import { parseConfig } from './config.ts';
import { parseConfigFile, type ReadFile, readTextFile } from './file.ts';

/** The sections that are read again while the service runs, as they stand in the file; the catalogue parses them. */
export interface ModelsSection {
  readonly models: unknown;
  readonly weights: unknown;
  readonly aliases: unknown;
}

/**
 * Reads the models again, on SIGHUP. The whole file is checked, so that a slip in it is told and not taken for a wish;
 * what has changed in other sections waits for the next start.
 * @throws ServiceError `invalid-request`: then the models stay as they are.
 */
export function readModelsSection(path: string, readText: ReadFile = readTextFile): ModelsSection {
  const text = readText(path);
  if (text === undefined) return { models: undefined, weights: undefined, aliases: undefined };
  const tree = parseConfigFile(path, text);
  const { models, weights, aliases } = parseConfig({ data: dirname(path), ...tree }, () => `file ${path}`);
  return { models, weights, aliases };
}

/**
 * Adds one entry to a section of the file, which is made where there is none. Comments and order stay; readers see the
 * old file or the new one.
 * @throws ServiceError `conflict` when the section has such an entry; `invalid-request` when the file cannot be understood.
 */
export async function addToConfigFile(
  path: string,
  section: keyof ModelsSection,
  { key, value }: { readonly key: string; readonly value: unknown },
): Promise<void> {
  const file = await existing(path);
  const document = parseDocument(file?.text ?? '');
  if (file) parseConfigFile(path, file.text); // refuses what has errors: writing it again would lose text
  const entries = document.get(section, true);
  const isEmpty = entries === undefined || (isScalar(entries) && entries.value === null);
  if (isMap(entries)) {
    if (entries.has(key)) throw new ServiceError('conflict', `${path} has an entry ${section}.${key} already.`);
    entries.set(document.createNode(key), document.createNode(value));
  } else if (isEmpty) {
    const made = document.createNode({ [key]: value });
    if (entries) made.commentBefore = [entries.commentBefore, entries.comment].filter(Boolean).join('\n');
    document.set(section, made);
  } else {
    throw new ServiceError('invalid-request', `${section} in ${path} must be a mapping from names.`);
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(file?.path ?? path, document.toString({ lineWidth: 0 }), { mode: file?.mode ?? 0o600 });
}

/** Behind a link it is the file itself that is replaced. */
async function existing(path: string): Promise<{ path: string; text: string; mode: number } | undefined> {
  try {
    const real = await realpath(path);
    return { path: real, text: await readFile(real, 'utf8'), mode: (await stat(real)).mode & 0o777 };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
