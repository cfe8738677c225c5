import { ServiceError } from '../../core/error.ts';
import {
  FILE_DESCRIPTION_CODE_POINTS_MAX,
  FILE_NAME_CODE_POINTS_MAX,
  FILE_RESERVE_BYTES_MAX,
  FILE_RESERVE_BYTES_MIN,
} from '../../core/limits.ts';
import type { FileTotal } from '../../store/file-totals.ts';
import type { FileLimits } from './file.ts';

/** Of what is left, the part that one file may reserve ahead. */
const FILE_RESERVE_SHARE = 16;

/** What a file without a name is called. */
const NAMELESS = 'file';

/** Code points of a name's last part, with its point, that count as its ending. */
const ENDING_MAX = 32;

/**
 * Control characters, and what changes how the text around it looks or where it seems to end: bidirectional controls,
 * invisible spaces and joins, line and paragraph separators. Joiners stay: scripts and emoji are written with them.
 */
const UNSEEN = /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

/**
 * What is kept of a name: its last part, as clients of some systems send paths; composed (NFC), so that what looks the same
 * is the same; without what cannot be seen; at most so long, with its ending.
 */
export function cleanName(name: string): string {
  const [last = ''] = name.toWellFormed().normalize('NFC').split(/[/\\]/).slice(-1);
  const seen = last.replace(UNSEEN, '').trim();
  if (seen === '' || seen === '.' || seen === '..') return NAMELESS;
  const points = Array.from(seen);
  if (points.length <= FILE_NAME_CODE_POINTS_MAX) return seen;
  const dot = points.lastIndexOf('.');
  const ending = dot > 0 && points.length - dot <= ENDING_MAX ? points.slice(dot) : [];
  return [...points.slice(0, FILE_NAME_CODE_POINTS_MAX - ending.length), ...ending].join('');
}

/** A text of several lines, otherwise as a name. @throws ServiceError `invalid-request` where it is too long. */
export function cleanDescription(description: string): string {
  const kept = description
    .toWellFormed()
    .normalize('NFC')
    .replace(UNSEEN, (character) => (/[\n\t]/.test(character) ? character : ''));
  const length = Array.from(kept).length;
  if (length <= FILE_DESCRIPTION_CODE_POINTS_MAX) return kept;
  const rule = `must have at most ${FILE_DESCRIPTION_CODE_POINTS_MAX} characters, got ${length}`;
  throw new ServiceError('invalid-request', `descriptions ${rule}.`, { param: 'descriptions' });
}

/** Part of an id by which people tell what a file is for. */
const ID_PREFIXES: Readonly<Record<string, string>> = {
  'file-extract': 'file-fe-',
  'fine-tune': 'file-ft-',
  batch: 'file-batch-',
};

export const idPrefixOf = (purpose: string): string => ID_PREFIXES[purpose] ?? 'file-';

/** Of an id, what is sortable by time; undefined where it is none of a file. */
export const sortKeyOf = (id: string): string | undefined => /^file-(?:[a-z_]+-)?([0-9a-f]+)$/.exec(id)?.[1];

/** wire.md E9.1. @throws ServiceError `count-quota` where there is no place for so many more. */
export function checkCount({ files }: FileTotal, { countMax }: FileLimits, wanted = 1): void {
  if (files + wanted <= countMax) return;
  throw new ServiceError('count-quota', `Out of number, <${files}> of <${countMax}> files has been uploaded.`);
}

/** @throws ServiceError `too-large`. */
export function checkFileSize(sizeBytes: number, { fileBytesMax }: FileLimits): void {
  if (sizeBytes <= fileBytesMax) return;
  throw new ServiceError('too-large', `A file may have at most ${fileBytesMax} bytes.`);
}

/** Room for a file that comes in: what it needs now, and what it has in all with that. */
export interface Growth {
  readonly needed: number;
  readonly sizeBytes: number;
}

/**
 * How many bytes to reserve for it: as many again as it has, but never more than a part of what is left, so that the last
 * ones in a full house do not hold what they will not use. Undefined where not even those that it needs are left.
 */
export function grantBytes(
  { needed, sizeBytes }: Growth,
  { bytes }: FileTotal,
  { totalBytesMax }: FileLimits,
): number | undefined {
  const left = Math.max(0, totalBytesMax - bytes);
  if (needed > left) return undefined;
  const wanted = Math.min(Math.max(sizeBytes, FILE_RESERVE_BYTES_MIN), FILE_RESERVE_BYTES_MAX);
  return Math.max(needed, Math.min(wanted, Math.floor(left / FILE_RESERVE_SHARE)));
}

export const noRoom = ({ bytes }: FileTotal, { totalBytesMax }: FileLimits): ServiceError =>
  new ServiceError('storage-quota', `Out of space, <${bytes}> of <${totalBytesMax}> bytes has been used.`);
