import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { getErrorCode } from '../../lib/error-code.ts';

// Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Bytes of a header that its checksum covers. */
const HEADER_SUMMED_BYTES = 24;
const FRAME_HEADER_SUMMED_BYTES = 8;

/** The last bit tells the byte order of the checksums. */
const MAGIC_LITTLE_ENDIAN = 0x377f0682;
const MAGIC_BIG_ENDIAN = 0x377f0683;

export type WalScan =
  /** SQLite applies every commit. After a `torn` end there may be frames of an earlier log or an unfinished transaction. */
  | { readonly state: 'missing' | 'intact' | 'torn'; readonly commits: number }
  /** SQLite would drop commits that were on the disk. `position`: of the first bad bytes in the file. */
  | {
      readonly state: 'damaged';
      readonly commits: number;
      readonly position: number;
      /** Intact commits after the damage. */
      readonly lostCommits: number;
    };

/**
 * Looks for damage within a write-ahead log. SQLite ends its recovery at the first frame with a wrong checksum, without
 * an error. After a power failure this can only be the last transaction: each commit is on the disk before the next
 * transaction begins. So a bad frame that frames of two transactions follow was damaged later.
 *
 * Blocks for the time to read the file. No other process may write it, or a scan must be repeated to be believed.
 */
export function scanWal(path: string): WalScan {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return { state: 'missing', commits: 0 };
    throw error;
  }
  try {
    return scanFile(file);
  } finally {
    closeSync(file);
  }
}

function scanFile(file: number): WalScan {
  const sizeBytes = fstatSync(file).size;
  if (sizeBytes < HEADER_BYTES + FRAME_HEADER_BYTES) return { state: sizeBytes === 0 ? 'missing' : 'torn', commits: 0 };
  const header = Buffer.alloc(HEADER_BYTES);
  readSync(file, header, 0, HEADER_BYTES, 0);
  const log = parseHeader(header) ?? guessHeader(file, sizeBytes);
  // No frame can be read, so nothing shows that there is one.
  if (!log) return { state: 'torn', commits: 0 };
  const frameBytes = FRAME_HEADER_BYTES + log.pageBytes;
  const frame = Buffer.alloc(frameBytes);
  let sum = log.sum;
  let commits = 0;
  let damage: Damage | undefined = log.isGuessed ? createDamage(0) : undefined;
  for (let position = HEADER_BYTES; position + frameBytes <= sizeBytes; position += frameBytes) {
    readSync(file, frame, 0, frameBytes, position);
    const stored = readStoredSum(frame);
    const isValid = isFrame(frame, log) && isEqual(stored, sumFrame(sum, frame, log));
    // After a bad frame, a frame is compared with what its predecessor states, so that it counts only if it is intact.
    sum = stored;
    const isCommit = frame.readUInt32BE(4) !== 0;
    if (!damage && !isValid) damage = createDamage(position);
    else if (damage && isValid) {
      damage.hasFramesAfterCommit ||= damage.commits > 0;
      if (isCommit) damage.commits += 1;
    } else if (isCommit && isValid) commits += 1;
  }
  if (!damage) return { state: 'intact', commits };
  // Frames of an earlier log, which was already copied to the database, follow the end of this one.
  if (damage.commits < 2 && !damage.hasFramesAfterCommit) return { state: 'torn', commits };
  return { state: 'damaged', commits, position: damage.position, lostCommits: damage.commits };
}

/** A bad frame, and what follows it. */
interface Damage {
  readonly position: number;
  commits: number;
  hasFramesAfterCommit: boolean;
}

const createDamage = (position: number): Damage => ({ position, commits: 0, hasFramesAfterCommit: false });

/** Returns whether the frame has a page number, and the salts of the log: other frames belong to an earlier log. */
const isFrame = (frame: Buffer, { salts }: WalHeader): boolean =>
  frame.readUInt32BE(0) !== 0 && frame.readUInt32BE(8) === salts[0] && frame.readUInt32BE(12) === salts[1];

const readStoredSum = (frame: Buffer): Sum => [frame.readUInt32BE(16), frame.readUInt32BE(20)];

const isEqual = (one: Sum, other: Sum): boolean => one[0] === other[0] && one[1] === other[1];

const sumFrame = (before: Sum, frame: Buffer, { pageBytes, isBigEndian }: WalHeader): Sum =>
  addToSum(
    addToSum(before, frame, FRAME_HEADER_SUMMED_BYTES, isBigEndian),
    frame.subarray(FRAME_HEADER_BYTES),
    pageBytes,
    isBigEndian,
  );

type Sum = readonly [number, number];

interface WalHeader {
  readonly pageBytes: number;
  readonly salts: readonly [number, number];
  readonly sum: Sum;
  readonly isBigEndian: boolean;
  /** Whether the header is damaged and its content was found in the frames. */
  readonly isGuessed: boolean;
}

function parseHeader(header: Buffer): WalHeader | undefined {
  const magic = header.readUInt32BE(0);
  if (magic !== MAGIC_LITTLE_ENDIAN && magic !== MAGIC_BIG_ENDIAN) return undefined;
  const isBigEndian = magic === MAGIC_BIG_ENDIAN;
  const sum = addToSum([0, 0], header, HEADER_SUMMED_BYTES, isBigEndian);
  if (sum[0] !== header.readUInt32BE(24) || sum[1] !== header.readUInt32BE(28)) return undefined;
  const pageBytes = header.readUInt32BE(8);
  return {
    pageBytes: pageBytes === 1 ? 65_536 : pageBytes,
    salts: [header.readUInt32BE(16), header.readUInt32BE(20)],
    sum,
    isBigEndian,
    isGuessed: false,
  };
}

/**
 * Finds page size and salts where the header is unreadable: the page size at which the first two frames have the same
 * salts. SQLite ignores such a log as a whole.
 */
function guessHeader(file: number, sizeBytes: number): WalHeader | undefined {
  const readSalts = (position: number): readonly [number, number] => {
    const bytes = Buffer.alloc(8);
    readSync(file, bytes, 0, 8, position);
    return [bytes.readUInt32BE(0), bytes.readUInt32BE(4)];
  };
  const salts = readSalts(HEADER_BYTES + 8);
  if (salts[0] === 0 && salts[1] === 0) return undefined;
  for (let pageBytes = 512; pageBytes <= 65_536; pageBytes *= 2) {
    const second = HEADER_BYTES + FRAME_HEADER_BYTES + pageBytes + 8;
    if (second + 8 > sizeBytes) return undefined;
    const [first, other] = readSalts(second);
    if (first === salts[0] && other === salts[1])
      return { pageBytes, salts, sum: [0, 0], isBigEndian: endianness() === 'BE', isGuessed: true };
  }
  return undefined;
}

/** Continues a checksum over the first `sizeBytes` bytes, a multiple of 8. */
function addToSum([first, second]: Sum, bytes: Buffer, sizeBytes: number, isBigEndian: boolean): Sum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, sizeBytes);
  let one = first;
  let two = second;
  for (let at = 0; at < sizeBytes; at += 8) {
    one = (one + view.getUint32(at, !isBigEndian) + two) >>> 0;
    two = (two + view.getUint32(at + 4, !isBigEndian) + one) >>> 0;
  }
  return [one, two];
}
