import { mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMap, isScalar, parseDocument } from 'yaml';
import { ServiceError } from '../core/error.ts';
import { replaceFile } from '../lib/durable-file.ts';
import { parseConfig } from './parse-config.ts';
import { parseConfigFile, type ReadTextFile, readTextFile } from './parse-config-file.ts';
import { getErrorCode } from '../lib/error-code.ts';

/** Sections that can be reloaded while the service runs, unparsed. The catalogue parses them. */
export interface ModelsSection {
  readonly models: unknown;
  readonly weights: unknown;
  readonly aliases: unknown;
}

/**
 * Reads the model sections again, on SIGHUP. Checks the whole file, so that a typing error is reported. Changes in
 * other sections take effect at the next start.
 * @throws ServiceError `invalid-request`: the models stay unchanged.
 */
export function readModelsSection(path: string, readText: ReadTextFile = readTextFile): ModelsSection {
  const text = readText(path);
  if (text === undefined) return { models: undefined, weights: undefined, aliases: undefined };
  const tree = parseConfigFile(path, text);
  const { models, weights, aliases } = parseConfig({ data: dirname(path), ...tree }, () => `file ${path}`);
  return { models, weights, aliases };
}

/**
 * Adds one entry to a section of the file, and creates a missing section. Keeps comments and order. Replaces the file
 * atomically.
 * @throws ServiceError `conflict` when the entry exists; `invalid-request` when the file is invalid.
 */
export async function addToConfigFile(
  path: string,
  section: keyof ModelsSection,
  { key, value }: { readonly key: string; readonly value: unknown },
): Promise<void> {
  const file = await readExistingFile(path);
  const document = parseDocument(file?.text ?? '');
  if (file) parseConfigFile(path, file.text); // throws for a file with errors: writing it again would lose text
  const entries = document.get(section, true);
  const isEmpty = entries === undefined || (isScalar(entries) && entries.value === null);
  if (isMap(entries)) {
    if (entries.has(key)) throw new ServiceError('conflict', `${path} already has an entry ${section}.${key}.`);
    entries.set(document.createNode(key), document.createNode(value));
  } else if (isEmpty) {
    const created = document.createNode({ [key]: value });
    if (entries) created.commentBefore = [entries.commentBefore, entries.comment].filter(Boolean).join('\n');
    document.set(section, created);
  } else {
    throw new ServiceError('invalid-request', `${section} in ${path} must be a mapping of names.`);
  }
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(file?.path ?? path, document.toString({ lineWidth: 0 }), { mode: file?.mode ?? 0o600 });
}

/** Reads the file. For a symbolic link, `path` is the path of its target, which is then replaced. */
export async function readExistingFile(
  path: string,
): Promise<{ path: string; text: string; mode: number } | undefined> {
  try {
    const real = await realpath(path);
    return { path: real, text: await readFile(real, 'utf8'), mode: (await stat(real)).mode & 0o777 };
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
