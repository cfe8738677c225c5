import { constants, crc32, inflateRawSync } from 'node:zlib';
import { UnreadableDocumentError, createPasswordError } from './unreadable-document-error.ts';

/** Read access to the files of an archive. */
export interface ZipArchive {
  has(name: string): boolean;
  /** @throws UnreadableDocumentError if the file is missing, damaged or above a limit. */
  read(name: string): Uint8Array;
}

export interface ZipLimits {
  readonly entriesMax: number;
  /** Limits of the uncompressed size: of one file, and of all files read. */
  readonly fileBytesMax: number;
  readonly totalBytesMax: number;
}

interface DirectoryEntry {
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly compressedBytes: number;
  readonly uncompressedBytes: number;
  readonly offset: number;
}

// Record signatures and field values of APPNOTE.TXT, sections 4.3 and 4.4.
const END_RECORD_SIGNATURE = 0x06054b50;
const ZIP64_END_RECORD_SIGNATURE = 0x06064b50;
const ZIP64_LOCATOR_SIGNATURE = 0x07064b50;
const CENTRAL_HEADER_SIGNATURE = 0x02014b50;
const LOCAL_HEADER_SIGNATURE = 0x04034b50;
const END_RECORD_BYTES = 22;
const ZIP64_LOCATOR_BYTES = 20;
const COMMENT_BYTES_MAX = 0xffff;
const ZIP64_EXTRA_ID = 1;
const ZIP64_MARKER = 0xffffffff;
const ENCRYPTED_FLAG = 1;

/**
 * Opens an archive in memory by reading its central directory. A file is decompressed on `read`, never beyond the
 * limits, whatever size the archive declares.
 * @throws UnreadableDocumentError if the archive is damaged or has too many entries.
 */
export function openZip(bytes: Uint8Array, { entriesMax, fileBytesMax, totalBytesMax }: ZipLimits): ZipArchive {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries = readDirectory(view, entriesMax);
  let remainingBytes = totalBytesMax;

  return {
    has: (name) => entries.has(name),
    read(name) {
      const entry = entries.get(name) ?? throwDamaged(`${name} is missing`);
      if ((entry.flags & ENCRYPTED_FLAG) !== 0) throw createPasswordError();
      const compressed = readCompressed(view, entry, name);
      const bytesMax = Math.min(fileBytesMax, remainingBytes);
      const uncompressed = entry.method === 0 ? compressed : inflate(compressed, { bytesMax, name });
      if (uncompressed.length > bytesMax) throw createTooLargeError();
      if (uncompressed.length !== entry.uncompressedBytes || crc32(uncompressed) !== entry.crc)
        throwDamaged(`${name} is damaged`);
      remainingBytes -= uncompressed.length;
      return uncompressed;
    },
  };
}

function readDirectory(view: Buffer, entriesMax: number): ReadonlyMap<string, DirectoryEntry> {
  const { count, offset } = findDirectory(view);
  if (count > entriesMax) throw new UnreadableDocumentError(`has more than ${entriesMax} files inside`);
  const entries = new Map<string, DirectoryEntry>();
  let at = offset;
  for (let index = 0; index < count; index++) {
    if (at + 46 > view.length || view.readUInt32LE(at) !== CENTRAL_HEADER_SIGNATURE) throwIncomplete();
    const nameLength = view.readUInt16LE(at + 28);
    const extraLength = view.readUInt16LE(at + 30);
    const name = view.toString('utf8', at + 46, at + 46 + nameLength);
    const extra = view.subarray(at + 46 + nameLength, at + 46 + nameLength + extraLength);
    const zip64Values = readZip64Values(extra);
    const readSize = (fieldOffset: number): number => {
      const value = view.readUInt32LE(at + fieldOffset);
      return value === ZIP64_MARKER ? (zip64Values.shift() ?? throwIncomplete()) : value;
    };
    // The order of the fields in the ZIP64 extra record.
    const uncompressedBytes = readSize(24);
    const compressedBytes = readSize(20);
    const start = readSize(42);
    if (!entries.has(name)) {
      entries.set(name, {
        flags: view.readUInt16LE(at + 8),
        method: view.readUInt16LE(at + 10),
        crc: view.readUInt32LE(at + 16),
        compressedBytes,
        uncompressedBytes,
        offset: start,
      });
    }
    at += 46 + nameLength + extraLength + view.readUInt16LE(at + 32);
  }
  return entries;
}

function findDirectory(view: Buffer): { readonly count: number; readonly offset: number } {
  const first = Math.max(0, view.length - END_RECORD_BYTES - COMMENT_BYTES_MAX);
  for (let at = view.length - END_RECORD_BYTES; at >= first; at--) {
    if (view.readUInt32LE(at) !== END_RECORD_SIGNATURE) continue;
    const endRecord = { count: view.readUInt16LE(at + 10), offset: view.readUInt32LE(at + 16) };
    const locator = at - ZIP64_LOCATOR_BYTES;
    if (locator < 0 || view.readUInt32LE(locator) !== ZIP64_LOCATOR_SIGNATURE) return endRecord;
    const zip64At = Number(view.readBigUInt64LE(locator + 8));
    if (zip64At + 56 > view.length || view.readUInt32LE(zip64At) !== ZIP64_END_RECORD_SIGNATURE)
      return throwIncomplete();
    return { count: Number(view.readBigUInt64LE(zip64At + 32)), offset: Number(view.readBigUInt64LE(zip64At + 48)) };
  }
  return throwDamaged('its directory is missing');
}

function readZip64Values(extra: Buffer): number[] {
  for (let at = 0; at + 4 <= extra.length;) {
    const length = extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === ZIP64_EXTRA_ID) {
      const field = extra.subarray(at + 4, at + 4 + length);
      return Array.from({ length: Math.floor(field.length / 8) }, (_, index) =>
        Number(field.readBigUInt64LE(index * 8)),
      );
    }
    at += 4 + length;
  }
  return [];
}

function readCompressed(view: Buffer, { offset, compressedBytes, method }: DirectoryEntry, name: string): Buffer {
  if (method !== 0 && method !== 8) throw new UnreadableDocumentError('uses an unsupported compression');
  if (offset + 30 > view.length || view.readUInt32LE(offset) !== LOCAL_HEADER_SIGNATURE)
    return throwDamaged(`${name} is missing`);
  const start = offset + 30 + view.readUInt16LE(offset + 26) + view.readUInt16LE(offset + 28);
  if (start + compressedBytes > view.length) return throwDamaged(`${name} is incomplete`);
  return view.subarray(start, start + compressedBytes);
}

function inflate(compressed: Buffer, { bytesMax, name }: { readonly bytesMax: number; readonly name: string }): Buffer {
  try {
    return inflateRawSync(compressed, { maxOutputLength: Math.max(1, bytesMax), finishFlush: constants.Z_SYNC_FLUSH });
  } catch (error) {
    if (error instanceof RangeError) throw createTooLargeError();
    return throwDamaged(`${name} is damaged`);
  }
}

const createTooLargeError = (): UnreadableDocumentError =>
  new UnreadableDocumentError('is larger when decompressed than a document may be');

const throwIncomplete = (): never => throwDamaged('its directory is incomplete');

function throwDamaged(problem: string): never {
  throw new UnreadableDocumentError(`is damaged: ${problem.slice(0, 120)}`);
}
