import { AUDIO_PACKET_BYTES_MAX } from '../limits.ts';
import type { ByteInput } from '../byte-input.ts';
import type { DecodingReporter } from '../format-decoder.ts';
import { createDamagedError, createPacketSizeError } from '../audio-decoding-error.ts';

/** A packet of an Ogg stream (RFC 3533). */
export interface OggPacket {
  readonly bytes: Uint8Array;
  readonly serialNumber: number;
  /** The packet starts its stream. */
  readonly isFirst: boolean;
  /** Granule position of the page if the packet is the last one that ends on it; otherwise undefined. */
  readonly granulePosition: number | undefined;
  /** The packet ends its stream. */
  readonly isLast: boolean;
}

export type OggReporter = Pick<DecodingReporter, 'reportTruncated' | 'reportLoss'>;

const PAGE_HEADER_BYTES = 27;
const FLAG_CONTINUED = 1;
const FLAG_FIRST = 2;
const FLAG_LAST = 4;

/** Maximum number of bytes between two pages. */
const SEARCH_BYTES_MAX = 1024 * 1024;

/** Maximum number of concurrent streams in a file. */
const STREAMS_MAX = 32;

/** Reads the packets of all streams, in the order of their ends. @throws AudioDecodingError */
export function* readOggPackets(input: ByteInput, reporter: OggReporter): Generator<OggPacket, void, undefined> {
  const table = createCrcTable();
  const partialPackets = new Map<number, Uint8Array[]>();
  for (let searched = 0; ;) {
    const start = input.peek(PAGE_HEADER_BYTES);
    if (start.length === 0) break;
    const page = isPageStart(start) ? readPage(input, table) : undefined;
    if (!page) {
      if (start.length < PAGE_HEADER_BYTES) {
        reporter.reportTruncated();
        return;
      }
      if (++searched > SEARCH_BYTES_MAX) throw createDamagedError('has no page where one is expected');
      if (searched === 1) reporter.reportLoss(0);
      input.skip(1);
      continue;
    }
    searched = 0;
    const { serialNumber, flags, granulePosition, lengths, body, isTruncated } = page;
    let segments = partialPackets.get(serialNumber);
    if (flags & FLAG_FIRST || !(flags & FLAG_CONTINUED)) segments = [];
    // The start of a continued packet was lost.
    let isIncomplete = (flags & FLAG_CONTINUED) !== 0 && !segments;
    segments ??= [];
    if (partialPackets.size >= STREAMS_MAX && !partialPackets.has(serialNumber))
      throw createDamagedError('has too many streams');
    const lastEnd = lengths.findLastIndex((length) => length < 255);
    let at = 0;
    let isFirst = (flags & FLAG_FIRST) !== 0;
    for (const [index, length] of lengths.entries()) {
      // A truncated page gives its complete packets, although its checksum cannot be verified.
      if (at + length > body.length) break;
      segments.push(body.subarray(at, at + length));
      at += length;
      if (length === 255) {
        if (segments.length * 255 > AUDIO_PACKET_BYTES_MAX) throw createPacketSizeError();
        continue;
      }
      const isEnd = index === lastEnd;
      const packet = {
        bytes: Buffer.concat(segments),
        serialNumber,
        isFirst,
        granulePosition: isEnd && granulePosition >= 0 ? granulePosition : undefined,
        isLast: isEnd && (flags & FLAG_LAST) !== 0,
      };
      if (!isIncomplete) yield packet;
      isIncomplete = false;
      isFirst = false;
      segments = [];
    }
    if (isTruncated) {
      reporter.reportTruncated();
      return;
    }
    partialPackets.set(serialNumber, segments);
    if (flags & FLAG_LAST) {
      partialPackets.delete(serialNumber);
    }
  }
  if (partialPackets.size > 0) reporter.reportTruncated();
}

interface OggPage {
  readonly serialNumber: number;
  readonly flags: number;
  readonly granulePosition: number;
  readonly lengths: Uint8Array;
  readonly body: Uint8Array;
  /** The file ends within the page. */
  readonly isTruncated: boolean;
}

const isPageStart = ([a, b, c, d, version]: Uint8Array): boolean =>
  a === 0x4f && b === 0x67 && c === 0x67 && d === 0x53 && version === 0;

/** Reads a page. Returns undefined if its checksum is wrong. */
function readPage(input: ByteInput, table: Uint32Array): OggPage | undefined {
  const count = input.peek(PAGE_HEADER_BYTES)[PAGE_HEADER_BYTES - 1] ?? 0;
  const header = input.peek(PAGE_HEADER_BYTES + count);
  const lengths = header.slice(PAGE_HEADER_BYTES, PAGE_HEADER_BYTES + count);
  const bodyBytes = lengths.reduce((sum, length) => sum + length, 0);
  const whole = input.peek(PAGE_HEADER_BYTES + count + bodyBytes);
  const isTruncated = whole.length < PAGE_HEADER_BYTES + count + bodyBytes;
  const view = new DataView(whole.buffer, whole.byteOffset, whole.byteLength);
  if (!isTruncated && computeCrc(whole, table) !== view.getUint32(22, true)) return undefined;
  const page = {
    serialNumber: view.getUint32(14, true),
    flags: whole[5] ?? 0,
    granulePosition: Number(view.getBigInt64(6, true)),
    lengths,
    body: whole.slice(PAGE_HEADER_BYTES + count),
    isTruncated,
  };
  input.skip(whole.length);
  return page;
}

/** Computes the checksum of a page; its four checksum bytes count as 0. */
function computeCrc(bytes: Uint8Array, table: Uint32Array): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = at >= 22 && at < 26 ? 0 : (bytes[at] ?? 0);
    sum = ((sum << 8) ^ (table[(sum >>> 24) ^ byte] ?? 0)) >>> 0;
  }
  return sum;
}

const createCrcTable = (): Uint32Array =>
  Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte << 24;
    for (let bit = 0; bit < 8; bit++) value = value & 0x8000_0000 ? (value << 1) ^ 0x04c1_1db7 : value << 1;
    return value >>> 0;
  });
