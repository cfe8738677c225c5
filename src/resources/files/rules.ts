import { ServiceError } from '../../core/error.ts';
import {
  FILE_DESCRIPTION_CODE_POINTS_MAX,
  FILE_NAME_CODE_POINTS_MAX,
  FILE_RESERVE_BYTES_MAX,
  FILE_RESERVE_BYTES_MIN,
} from './limits.ts';
import type { FileUsage } from '../../store/file-totals.ts';
import type { FileLimits } from './file.ts';

/** One file reserves at most 1/16 of the remaining storage ahead. */
const FILE_RESERVE_DIVISOR = 16;

/** Name of a file that was sent without one. */
const DEFAULT_FILE_NAME = 'file';

/** A longer suffix after the last point is not treated as an extension. Counts the point. */
const EXTENSION_CODE_POINTS_MAX = 32;

/**
 * Control characters and characters that change how surrounding text looks or where it seems to end: bidirectional
 * controls, invisible spaces and joins, line and paragraph separators. Zero-width joiners stay, because scripts and
 * emoji need them.
 */
const INVISIBLE_CHARACTERS =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

/**
 * Cleans a file name: takes the last path segment (some clients send paths), composes it (NFC) so that equal-looking
 * names are equal, removes invisible characters, and shortens it to FILE_NAME_CODE_POINTS_MAX with its extension.
 */
export function cleanName(name: string): string {
  const [last = ''] = name.toWellFormed().normalize('NFC').split(/[/\\]/).slice(-1);
  const visible = last.replace(INVISIBLE_CHARACTERS, '').trim();
  if (visible === '' || visible === '.' || visible === '..') return DEFAULT_FILE_NAME;
  const codePoints = Array.from(visible);
  if (codePoints.length <= FILE_NAME_CODE_POINTS_MAX) return visible;
  const dot = codePoints.lastIndexOf('.');
  const extension = dot > 0 && codePoints.length - dot <= EXTENSION_CODE_POINTS_MAX ? codePoints.slice(dot) : [];
  return [...codePoints.slice(0, FILE_NAME_CODE_POINTS_MAX - extension.length), ...extension].join('');
}

/**
 * Cleans a description like a name but keeps its line breaks and tabs.
 * @throws ServiceError `invalid-request` if it is too long.
 */
export function cleanDescription(description: string): string {
  const cleaned = description
    .toWellFormed()
    .normalize('NFC')
    .replace(INVISIBLE_CHARACTERS, (character) => (/[\n\t]/.test(character) ? character : ''));
  const length = Array.from(cleaned).length;
  if (length <= FILE_DESCRIPTION_CODE_POINTS_MAX) return cleaned;
  const rule = `must have at most ${FILE_DESCRIPTION_CODE_POINTS_MAX} characters, got ${length}`;
  throw new ServiceError('invalid-request', `descriptions ${rule}.`, { param: 'descriptions' });
}

/** Id prefixes by purpose, so that people recognize a file's purpose. */
const ID_PREFIXES: Readonly<Record<string, string>> = {
  'file-extract': 'file-fe-',
  'fine-tune': 'file-ft-',
  batch: 'file-batch-',
};

export const getIdPrefix = (purpose: string): string => ID_PREFIXES[purpose] ?? 'file-';

/** @returns the part of a file id that sorts by time; undefined if the text is no file id. */
export const parseSortKey = (id: string): string | undefined => /^file-(?:[a-z_]+-)?([0-9a-f]+)$/.exec(id)?.[1];

/**
 * Checks the number of files (docs/wire/dashscope-native.md#files).
 * @throws ServiceError `count-quota` if `added` more files exceed it.
 */
export function checkCount({ files }: FileUsage, { countMax }: FileLimits, added = 1): void {
  if (files + added <= countMax) return;
  throw new ServiceError(
    'count-quota',
    `Out of number, ${files} of ${countMax} files has been uploaded. Delete files to upload more.`,
  );
}

/** @throws ServiceError `too-large`. */
export function checkFileSize(sizeBytes: number, { fileBytesMax }: FileLimits): void {
  if (sizeBytes <= fileBytesMax) return;
  throw new ServiceError('too-large', `A file may have at most ${fileBytesMax} bytes.`);
}

/** Bytes that a file being received needs now, and its size including them. */
export interface UploadGrowth {
  readonly neededBytes: number;
  readonly sizeBytes: number;
}

/**
 * Computes how many bytes to reserve for a file: as many again as it has, but only a fraction of the remaining storage,
 * so that the last uploads before the quota do not block bytes that they will not use.
 * @returns undefined if even the needed bytes are not available.
 */
export function grantBytes(
  { neededBytes, sizeBytes }: UploadGrowth,
  { bytes }: FileUsage,
  { totalBytesMax }: FileLimits,
): number | undefined {
  const left = Math.max(0, totalBytesMax - bytes);
  if (neededBytes > left) return undefined;
  const desired = Math.min(Math.max(sizeBytes, FILE_RESERVE_BYTES_MIN), FILE_RESERVE_BYTES_MAX);
  return Math.max(neededBytes, Math.min(desired, Math.floor(left / FILE_RESERVE_DIVISOR)));
}

export const createStorageQuotaError = ({ bytes }: FileUsage, { totalBytesMax }: FileLimits): ServiceError =>
  new ServiceError(
    'storage-quota',
    `Out of space, ${bytes} of ${totalBytesMax} bytes has been used. Delete files to upload more.`,
  );
