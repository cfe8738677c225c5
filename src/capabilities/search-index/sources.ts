import { open, realpath, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import { INDEX_SOURCES_MAX, INDEX_URL_FILE_BYTES_MAX } from './limits.ts';
import type { IndexSource } from '../../store/index-collections.ts';

/**
 * Parses the operator's arguments: URLs, folders, files, and files that contain only URLs, one per line.
 *
 * @throws ServiceError `invalid-request` for a path that does not exist or is neither a file nor a folder.
 */
export async function parseSources(texts: readonly string[]): Promise<readonly IndexSource[]> {
  if (texts.length > INDEX_SOURCES_MAX) throw createTooManySourcesError();
  const sources: IndexSource[] = [];
  for (const text of texts) {
    const source = isHttpUrl(text) ? parseUrlSource(text) : await readPathSource(text);
    if (!sources.some((other) => isSameSource(other, source))) sources.push(source);
  }
  return sources;
}

export const isSameSource = (one: IndexSource, other: IndexSource): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text);

function parseUrlSource(text: string): IndexSource {
  if (!URL.canParse(text)) throw invalidRequest(`${text} is not a valid URL.`);
  const url = new URL(text);
  url.hash = '';
  return { type: 'url', url: url.href };
}

async function readPathSource(text: string): Promise<IndexSource> {
  const path = await realpath(resolve(text)).catch((cause: unknown) => {
    throw invalidRequest(`${text} does not exist.`, cause);
  });
  const stats = await stat(path);
  if (stats.isDirectory()) return { type: 'folder', path };
  if (!stats.isFile()) throw invalidRequest(`${text} is neither a file nor a folder.`);
  return { type: (await readUrlFile(path)) === undefined ? 'file' : 'url-file', path };
}

/**
 * Reads a file that contains only URLs, one per line; empty lines and lines that start with `#` are skipped.
 *
 * @returns undefined for any other file.
 * @throws ServiceError `invalid-request` for too many URLs.
 */
export async function readUrlFile(path: string): Promise<readonly string[] | undefined> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    if (size > INDEX_URL_FILE_BYTES_MAX) return undefined;
    const lines = (await handle.readFile('utf8')).split(/\r?\n/).map((line) => line.trim());
    const urls = lines.filter((line) => line !== '' && !line.startsWith('#'));
    if (urls.length === 0 || !urls.every((line) => isHttpUrl(line) && URL.canParse(line))) return undefined;
    if (urls.length > INDEX_SOURCES_MAX) throw createTooManySourcesError();
    return [...new Set(urls.map((line) => new URL(line).href))];
  } finally {
    await handle.close();
  }
}

/** Derives a collection's default name from the source: the end of its path, or its host. */
export function getDefaultName(source: IndexSource): string {
  const text =
    source.type === 'url' ? new URL(source.url).hostname : basename(source.path).replace(/(?<=.)\.[^.]{1,10}$/, '');
  return text
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '-')
    .replace(/^[^\p{L}\p{N}]+/u, '')
    .slice(0, 64);
}

const invalidRequest = (message: string, cause?: unknown): ServiceError =>
  new ServiceError('invalid-request', message, { param: 'source', cause });

export const createTooManySourcesError = (): ServiceError =>
  invalidRequest(`A collection may have at most ${INDEX_SOURCES_MAX} URLs and paths.`);
