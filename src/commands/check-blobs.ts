import { createHash } from 'node:crypto';
import { finished } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import type { UnverifiedBlobStore } from '../blobs/blob-store.ts';
import { createVerifiedBlobStore, type BlobDamage } from '../blobs/verified-blob-store.ts';
import { ServiceError } from '../core/error.ts';
import { mapWithConcurrency } from '../lib/map-with-concurrency.ts';
import { releaseBytes } from '../lib/release-bytes.ts';
import { FILE_ORPHAN_AGE_MS } from '../resources/files/limits.ts';
import type { CheckReader, RequiredBlob } from '../store/checks/open-check-reader.ts';
import type { CheckReport, ReportCheckedBytes } from './check-problem.ts';
import { CHECK_READ_CONCURRENCY } from './limits.ts';

export interface CheckBlobsDeps {
  readonly reader: CheckReader;
  readonly blobs: UnverifiedBlobStore;
  readonly report: CheckReport;
  readonly onBytes: ReportCheckedBytes;
  /** UTC milliseconds. */
  readonly now: number;
}

/** Number of blobs that were read, and of those that have no recorded hashes. */
export interface CheckedBlobs {
  readonly blobs: number;
  readonly unhashed: number;
}

const ACTIONS: Record<RequiredBlob['kind'], string> = {
  file: 'Upload the file again and delete this one, or restore a backup.',
  text: 'Upload the file again, whose text is then extracted again, or restore a backup.',
  audio: 'Submit the transcription task again.',
  part: 'Cancel the upload and start it again.',
};

/**
 * Reads every blob that a row refers to, and lists the blobs that no row names. A running service may add and delete
 * blobs meanwhile: what seems to be wrong is compared with the rows again.
 *
 * @throws ServiceError `internal` if the blobs cannot be listed.
 */
export async function checkBlobs(deps: CheckBlobsDeps): Promise<CheckedBlobs> {
  const { reader, report } = deps;
  let [blobs, unhashed] = [0, 0];
  for (const page of reader.listBlobs()) {
    const problems = await mapWithConcurrency(page, CHECK_READ_CONCURRENCY, async (required) => {
      blobs += 1;
      const { hasHashes, problem } = await checkBlob(required, deps);
      if (!hasHashes) unhashed += 1;
      return problem !== undefined && reader.isRequired(required.kind, required.blob)
        ? { required, problem }
        : undefined;
    });
    for (const found of problems) {
      if (!found) continue;
      const { kind, blob, subject } = found.required;
      report.problems.push({
        area: 'files',
        subject: `${kind} ${subject} (blob ${blob})`,
        problem: found.problem,
        action: ACTIONS[kind],
      });
    }
  }
  await listOrphans(deps);
  return { blobs, unhashed };
}

async function listOrphans({ reader, blobs, report, now }: CheckBlobsDeps): Promise<void> {
  for await (const { name, changedAt } of blobs.list()) {
    // Younger blobs may belong to an upload whose row this connection does not see yet.
    if (changedAt >= now - FILE_ORPHAN_AGE_MS || reader.isReferenced(name)) continue;
    report.notes.push({
      area: 'files',
      subject: `blob ${name}`,
      problem: 'no row refers to it',
      action: 'None: a running service deletes it.',
    });
  }
}

async function checkBlob(
  required: RequiredBlob,
  { reader, blobs, onBytes }: CheckBlobsDeps,
): Promise<{ readonly hasHashes: boolean; readonly problem: string | undefined }> {
  const record = reader.findHashes(required.blob);
  const hash = createHash('md5');
  let sizeBytes = 0;
  const damages: BlobDamage[] = [];
  const verified = createVerifiedBlobStore(blobs, {
    hashes: { find: async () => record, put: async () => undefined, remove: async () => undefined },
    onDamage: (damage) => damages.push(damage),
  });
  try {
    await drain(await verified.read(required.blob), (chunk) => {
      sizeBytes += chunk.byteLength;
      if (!record) hash.update(chunk);
      onBytes('files', chunk.byteLength);
    });
  } catch (thrown) {
    return { hasHashes: record !== undefined, problem: describeFailure(thrown, damages[0]) };
  }
  if (sizeBytes !== required.sizeBytes)
    return { hasHashes: record !== undefined, problem: `it has ${sizeBytes} bytes instead of ${required.sizeBytes}` };
  const isChanged = !record && required.md5 !== undefined && hash.digest('hex') !== required.md5;
  return {
    hasHashes: record !== undefined,
    problem: isChanged ? 'its MD5 differs from that of the upload' : undefined,
  };
}

async function drain(stream: Readable, onChunk: (chunk: Uint8Array) => void): Promise<void> {
  stream.on('data', (chunk: Uint8Array) => {
    onChunk(chunk);
    releaseBytes(chunk);
  });
  await finished(stream);
}

function describeFailure(thrown: unknown, damage: BlobDamage | undefined): string {
  if (damage?.position === undefined) {
    const isMissing = damage !== undefined || ServiceError.from(thrown).kind === 'file-not-found';
    if (isMissing) return 'its bytes are missing';
    const { message, cause } = ServiceError.from(thrown);
    return `it cannot be read: ${cause instanceof Error ? cause.message : message}`;
  }
  return `the block at ${damage.position} has ${damage.found} instead of ${damage.expected}`;
}
