import { z } from 'zod';
import type { Stats } from 'node:fs';
import { replaceFile } from '../lib/durable-file.ts';
import { readJsonIfValid } from './file-system.ts';

/**
 * Facts about a verified weights file, stored beside it so that a start does not read hundreds of megabytes.
 *
 * `verified` says which hash the content matches: the catalogue's, the one the hub announced, or none because there was
 * none (then `sha256` is the hash that the file had on arrival).
 */
const WeightsFileRecord = z.object({
  path: z.string(),
  sizeBytes: z.number(),
  mtimeMs: z.number(),
  sha256: z.string(),
  /** `hub owner/repo/file at revision`, `packages …`, or `found` for a file that the operator put there. */
  source: z.string(),
  verified: z.enum(['catalogue', 'announced', 'none']),
  /** Hash of sampled blocks of the verified content (`hashSamples`). Absent in records of earlier versions. */
  samplesSha256: z.string().optional(),
  /** Whether a check in the background found other content. The file is then read completely before its next use. */
  isDamaged: z.boolean().optional(),
});

export type WeightsFileRecord = Readonly<z.infer<typeof WeightsFileRecord>>;

/** Reads a record. Returns undefined when it is missing or malformed: the file is then verified again. */
export const readWeightsFileRecord = (path: string): Promise<WeightsFileRecord | undefined> =>
  readJsonIfValid(path, WeightsFileRecord);

export const writeWeightsFileRecord = (path: string, record: WeightsFileRecord): Promise<void> =>
  replaceFile(path, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o644 });

/** Tells whether size and modification time match the record, and no check has found other content. */
export const isUnchanged = (record: WeightsFileRecord, { size, mtimeMs }: Pick<Stats, 'size' | 'mtimeMs'>): boolean =>
  !record.isDamaged && size === record.sizeBytes && mtimeMs === record.mtimeMs;

/** A complete, verified download that is not yet at its final path. */
export interface VerifiedDownload extends Pick<WeightsFileRecord, 'sizeBytes' | 'sha256' | 'verified' | 'source'> {
  readonly path: string;
}
