import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

/** Number of sampled blocks. Damage of a tenth of a file escapes one sample of this size in a thousand. */
const SAMPLES = 64;

/** Size of a sampled block, in bytes: all blocks together take milliseconds, also from a disk. */
const SAMPLE_BYTES = 64 * 1024;

/**
 * Hashes blocks at even distances, from the first to the last byte of a file; a file of up to 4 MiB completely. Finds
 * most changes of a large file in a fraction of the time that reading it takes.
 */
export async function hashSamples(path: string): Promise<string> {
  const hash = createHash('sha256');
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const block = Buffer.alloc(SAMPLE_BYTES);
    for (const position of listSamplePositions(size)) {
      const { bytesRead } = await handle.read(block, 0, SAMPLE_BYTES, position);
      hash.update(block.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
  return hash.digest('hex');
}

/** Returns the first byte of each sampled block of a file. */
function listSamplePositions(sizeBytes: number): readonly number[] {
  if (sizeBytes <= SAMPLES * SAMPLE_BYTES)
    return Array.from({ length: Math.ceil(sizeBytes / SAMPLE_BYTES) }, (_, at) => at * SAMPLE_BYTES);
  const distance = (sizeBytes - SAMPLE_BYTES) / (SAMPLES - 1);
  return Array.from({ length: SAMPLES }, (_, at) => Math.floor(at * distance));
}
