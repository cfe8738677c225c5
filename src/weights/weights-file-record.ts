import type { Stats } from 'node:fs';
import { replaceFile } from '../lib/durable-file.ts';
import { readJsonIfValid } from './file-system.ts';

/**
 * Facts about a verified weights file, stored beside it so that a start does not read hundreds of megabytes.
 *
 * `verified` says which hash the content matches: the catalogue's, the one the hub announced, or none because there was
 * none (then `sha256` is the hash that the file had on arrival).
 */
export interface WeightsFileRecord {
  readonly path: string;
  readonly sizeBytes: number;
  readonly mtimeMs: number;
  readonly sha256: string;
  /** `hub owner/repo/file at revision`, `packages …`, or `found` for a file that the operator put there. */
  readonly source: string;
  readonly verified: 'catalogue' | 'announced' | 'none';
}

/** Reads a record. Returns undefined when it is missing or malformed: the file is then verified again. */
export const readWeightsFileRecord = (path: string): Promise<WeightsFileRecord | undefined> =>
  readJsonIfValid(path, isWeightsFileRecord);

export const writeWeightsFileRecord = (path: string, record: WeightsFileRecord): Promise<void> =>
  replaceFile(path, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o644 });

/** Tells whether size and modification time match the record; the content then counts as unchanged. */
export const isUnchanged = (record: WeightsFileRecord, stats: Stats): boolean =>
  stats.size === record.sizeBytes && stats.mtimeMs === record.mtimeMs;

const isWeightsFileRecord = (value: unknown): value is WeightsFileRecord =>
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
