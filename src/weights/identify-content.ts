import type { Weights } from '../core/weights.ts';
import type { WeightsFileRecord } from './weights-file-record.ts';
import { describeSource } from './weights-files.ts';

/** Origin of the content of a weights file, and the hash that proves it. */
export type ContentIdentity = Pick<WeightsFileRecord, 'source' | 'verified'>;

/** Returns the hashes that the catalogue states for the file of these weights. */
const listCatalogueHashes = ({ sources }: Weights): readonly string[] =>
  sources.flatMap((source) => (source.type === 'file' ? [] : (source.sha256 ?? [])));

/**
 * Identifies content by its hash. Returns undefined when it matches none of the known hashes, which are those of the
 * catalogue and the one that the hub announced at the download. Without any, content is taken as it was found.
 */
export function identifyContent(
  weights: Weights,
  sha256: string,
  record: WeightsFileRecord | undefined,
): ContentIdentity | undefined {
  const source = weights.sources.find((one) => one.type !== 'file' && one.sha256 === sha256);
  if (source) return { source: describeSource(source), verified: 'catalogue' };
  const hasHash = listCatalogueHashes(weights).length > 0;
  const wasOnlyFound = record?.source === FOUND && record.verified === 'none';
  if (record?.sha256 === sha256 && !(hasHash && wasOnlyFound))
    return { source: record.source, verified: record.verified };
  const hasAnnouncedHash = record?.verified === 'announced' || record?.verified === 'catalogue';
  return hasHash || hasAnnouncedHash ? undefined : { source: FOUND, verified: 'none' };
}

/** Source in the record of a file that the operator put into the folder. */
const FOUND = 'found';
