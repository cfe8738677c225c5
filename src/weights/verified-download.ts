import type { WeightsFileRecord } from './weights-file-record.ts';

/** A complete, verified download that is not yet at its final path. */
export interface VerifiedDownload extends Pick<WeightsFileRecord, 'sizeBytes' | 'sha256' | 'verified' | 'source'> {
  readonly path: string;
}
