import { constants, crc32, inflateRawSync } from 'node:zlib';
import { Unreadable } from './unreadable.ts';

/** The files in an archive. */
export interface Zip {
  has(name: string): boolean;
  /** @throws Unreadable where there is none, or it is not what the archive says it is. */
  read(name: string): Uint8Array;
}

export interface ZipLimits {
  readonly entriesMax: number;
  /** Bytes of one file in it, unpacked, and of all that are read together. */
  readonly fileBytesMax: number;
  readonly allBytesMax: number;
}

interface Entry {
  readonly flags: number;
  readonly method: number;
  readonly crc: number;
  readonly packedBytes: number;
  readonly bytes: number;
  readonly offset: number;
}

// APPNOTE.TXT, sections 4.3 and 4.4.
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const LOCATOR_64_BYTES = 20;
const COMMENT_BYTES_MAX = 0xffff;
const EXTRA_64 = 1;
const IN_EXTRA = 0xffffffff;
const ENCRYPTED_FLAG = 1;

/**
 * An archive in memory. Only its directory is read at first; a file is unpacked when it is asked for, into no more than
 * the limits allow, whatever the archive says about its size.
 * @throws Unreadable where it is damaged or has too many files; so too `read`.
 */
export function openZip(bytes: Uint8Array, { entriesMax, fileBytesMax, allBytesMax }: ZipLimits): Zip {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries = readDirectory(view, entriesMax);
  let leftBytes = allBytesMax;

  return {
    has: (name) => entries.has(name),
    read(name) {
      const entry = entries.get(name) ?? damaged(`${name} is missing`);
      if ((entry.flags & ENCRYPTED_FLAG) !== 0) throw new Unreadable('is protected by a password');
      const packed = packedOf(view, entry, name);
      const bytesMax = Math.min(fileBytesMax, leftBytes);
      const unpacked = entry.method === 0 ? packed : inflate(packed, { bytesMax, name });
      if (unpacked.length > bytesMax) throw tooLarge();
      if (unpacked.length !== entry.bytes || crc32(unpacked) !== entry.crc) damaged(`${name} is not whole`);
      leftBytes -= unpacked.length;
      return unpacked;
    },
  };
}

function readDirectory(view: Buffer, entriesMax: number): ReadonlyMap<string, Entry> {
  const { count, offset } = findDirectory(view);
  if (count > entriesMax) throw new Unreadable(`has more than ${entriesMax} files inside`);
  const entries = new Map<string, Entry>();
  let at = offset;
  for (let index = 0; index < count; index++) {
    if (at + 46 > view.length || view.readUInt32LE(at) !== CENTRAL) damaged('its directory is cut off');
    const nameLength = view.readUInt16LE(at + 28);
    const extraLength = view.readUInt16LE(at + 30);
    const name = view.toString('utf8', at + 46, at + 46 + nameLength);
    const extra = view.subarray(at + 46 + nameLength, at + 46 + nameLength + extraLength);
    const wide = wideNumbers(extra);
    const number = (place: number): number => {
      const narrow = view.readUInt32LE(at + place);
      return narrow === IN_EXTRA ? (wide.shift() ?? damaged('its directory is cut off')) : narrow;
    };
    // In this order they stand among the wide ones.
    const size = number(24);
    const packedBytes = number(20);
    const start = number(42);
    if (!entries.has(name)) {
      entries.set(name, {
        flags: view.readUInt16LE(at + 8),
        method: view.readUInt16LE(at + 10),
        crc: view.readUInt32LE(at + 16),
        packedBytes,
        bytes: size,
        offset: start,
      });
    }
    at += 46 + nameLength + extraLength + view.readUInt16LE(at + 32);
  }
  return entries;
}

function findDirectory(view: Buffer): { readonly count: number; readonly offset: number } {
  const first = Math.max(0, view.length - END_BYTES - COMMENT_BYTES_MAX);
  for (let at = view.length - END_BYTES; at >= first; at--) {
    if (view.readUInt32LE(at) !== END) continue;
    const found = { count: view.readUInt16LE(at + 10), offset: view.readUInt32LE(at + 16) };
    const locator = at - LOCATOR_64_BYTES;
    if (locator < 0 || view.readUInt32LE(locator) !== LOCATOR_64) return found;
    const wide = Number(view.readBigUInt64LE(locator + 8));
    if (wide + 56 > view.length || view.readUInt32LE(wide) !== END_64) return damaged('its directory is cut off');
    return { count: Number(view.readBigUInt64LE(wide + 32)), offset: Number(view.readBigUInt64LE(wide + 48)) };
  }
  return damaged('its directory is missing');
}

function wideNumbers(extra: Buffer): number[] {
  for (let at = 0; at + 4 <= extra.length;) {
    const length = extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === EXTRA_64) {
      const field = extra.subarray(at + 4, at + 4 + length);
      return Array.from({ length: Math.floor(field.length / 8) }, (_, index) =>
        Number(field.readBigUInt64LE(index * 8)),
      );
    }
    at += 4 + length;
  }
  return [];
}

function packedOf(view: Buffer, { offset, packedBytes, method }: Entry, name: string): Buffer {
  if (method !== 0 && method !== 8) throw new Unreadable('is packed in a way that cannot be read');
  if (offset + 30 > view.length || view.readUInt32LE(offset) !== LOCAL) return damaged(`${name} is missing`);
  const start = offset + 30 + view.readUInt16LE(offset + 26) + view.readUInt16LE(offset + 28);
  if (start + packedBytes > view.length) return damaged(`${name} is cut off`);
  return view.subarray(start, start + packedBytes);
}

function inflate(packed: Buffer, { bytesMax, name }: { readonly bytesMax: number; readonly name: string }): Buffer {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, bytesMax), finishFlush: constants.Z_SYNC_FLUSH });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge();
    return damaged(`${name} is not whole`);
  }
}

const tooLarge = (): Unreadable => new Unreadable('is much larger unpacked than a document may be');

function damaged(what: string): never {
  throw new Unreadable(`is damaged: ${what.slice(0, 120)}`);
}
