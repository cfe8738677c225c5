import { open, realpath, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import { INDEX_SOURCES_MAX, INDEX_URL_FILE_BYTES_MAX } from '../../core/limits.ts';
import type { IndexSource } from '../../store/index-collections.ts';

/**
 * What the operator named: addresses, folders, files, and files that hold nothing but addresses, one a line.
 *
 * @throws ServiceError `invalid-request` for what is not there or is no file and no folder.
 */
export async function parseSources(texts: readonly string[]): Promise<readonly IndexSource[]> {
  if (texts.length > INDEX_SOURCES_MAX) throw tooMany();
  const sources: IndexSource[] = [];
  for (const text of texts) {
    const source = isAddress(text) ? addressOf(text) : await pathSource(text);
    if (!sources.some((other) => isSame(other, source))) sources.push(source);
  }
  return sources;
}

export const isSame = (one: IndexSource, other: IndexSource): boolean => JSON.stringify(one) === JSON.stringify(other);

const isAddress = (text: string): boolean => /^https?:\/\//i.test(text);

function addressOf(text: string): IndexSource {
  if (!URL.canParse(text)) throw refusal(`${text} is no address.`);
  const url = new URL(text);
  url.hash = '';
  return { type: 'url', url: url.href };
}

async function pathSource(text: string): Promise<IndexSource> {
  const path = await realpath(resolve(text)).catch((cause: unknown) => {
    throw refusal(`There is no file or folder ${text}.`, cause);
  });
  const stats = await stat(path);
  if (stats.isDirectory()) return { type: 'folder', path };
  if (!stats.isFile()) throw refusal(`${text} is neither a file nor a folder.`);
  return { type: (await urlsIn(path)) === undefined ? 'file' : 'url-file', path };
}

/**
 * The addresses of a file that holds nothing else: one a line, empty lines and those that begin with `#` left out. Undefined
 * for any other file.
 *
 * @throws ServiceError `invalid-request` where they are too many.
 */
export async function urlsIn(path: string): Promise<readonly string[] | undefined> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    if (size > INDEX_URL_FILE_BYTES_MAX) return undefined;
    const lines = (await handle.readFile('utf8')).split(/\r?\n/).map((line) => line.trim());
    const told = lines.filter((line) => line !== '' && !line.startsWith('#'));
    if (told.length === 0 || !told.every((line) => isAddress(line) && URL.canParse(line))) return undefined;
    if (told.length > INDEX_SOURCES_MAX) throw tooMany();
    return [...new Set(told.map((line) => new URL(line).href))];
  } finally {
    await handle.close();
  }
}

/** A name for a collection of it: what its path ends with, or its host. */
export function labelOf(source: IndexSource): string {
  const text =
    source.type === 'url' ? new URL(source.url).hostname : basename(source.path).replace(/(?<=.)\.[^.]{1,10}$/, '');
  return text
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '-')
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .slice(0, 64);
}

const refusal = (message: string, cause?: unknown): ServiceError =>
  new ServiceError('invalid-request', message, { param: 'source', cause });

const tooMany = (): ServiceError => refusal(`A collection has at most ${INDEX_SOURCES_MAX} addresses and paths.`);
