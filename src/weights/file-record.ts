import type { Stats } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { replaceFile } from '../lib/durable-file.ts';
import { errorCode } from './file-system.ts';

/**
 * What was found out about a file of weights, kept beside it so that a start does not read hundreds of megabytes.
 *
 * `verified`: against the catalogue's hash; against the one the hub announced; or against none, because there was none
 * (then `sha256` is what the file had when it came).
 */
export interface FileRecord {
  readonly path: string;
  readonly sizeBytes: number;
  readonly mtimeMs: number;
  readonly sha256: string;
  /** `hub owner/repo/file`, `packages …`, or `found` for a file that somebody put there. */
  readonly source: string;
  readonly verified: 'catalogue' | 'announced' | 'none';
}

/** Undefined where there is none, or one that says nothing of use: the file is then looked at again. */
export async function readFileRecord(path: string): Promise<FileRecord | undefined> {
  try {
    const parsed: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isFileRecord(parsed) ? parsed : undefined;
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT' || thrown instanceof SyntaxError) return undefined;
    throw thrown;
  }
}

export const writeFileRecord = (path: string, record: FileRecord): Promise<void> =>
  replaceFile(path, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o644 });

/** Size and time of change are what the record says: the content is taken to be, too. */
export const isUnchanged = (record: FileRecord, stats: Stats): boolean =>
  stats.size === record.sizeBytes && stats.mtimeMs === record.mtimeMs;

const isFileRecord = (value: unknown): value is FileRecord =>
  typeof value === 'object' &&
  value !== null &&
  'path' in value &&
  typeof value.path === 'string' &&
  'sizeBytes' in value &&
  typeof value.sizeBytes === 'number' &&
  'mtimeMs' in value &&
  typeof value.mtimeMs === 'number' &&
  'sha256' in value &&
  typeof value.sha256 === 'string' &&
  'source' in value &&
  typeof value.source === 'string' &&
  'verified' in value &&
  (value.verified === 'catalogue' || value.verified === 'announced' || value.verified === 'none');
