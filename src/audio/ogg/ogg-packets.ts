import { AUDIO_PACKET_BYTES_MAX } from '../../core/limits.ts';
import type { ByteInput } from '../byte-input.ts';
import { damaged } from '../unreadable.ts';

/** A packet of one of the streams in an Ogg file: RFC 3533. */
export interface OggPacket {
  readonly bytes: Uint8Array;
  readonly stream: number;
  /** It begins its stream. */
  readonly isFirst: boolean;
  /** It ends its page, whose position this is, in units of its codec; undefined for all others. */
  readonly position: number | undefined;
  /** It ends its stream. */
  readonly isLast: boolean;
}

export interface OggRemarks {
  cutOff(): void;
  /** Packets are missing. */
  lost(samples: number): void;
}

const HEAD_BYTES = 27;
const CONTINUED = 1;
const FIRST = 2;
const LAST = 4;

/** Ours: bytes without a page between two of them. Beyond: this is something else. */
const SEARCH_BYTES_MAX = 1024 * 1024;

/** Ours: streams beside each other in one file. Beyond: it is refused. */
const STREAMS_MAX = 32;

/** Packets of all streams, in order of their ends. @throws Unreadable */
export function* readOggPackets(input: ByteInput, remarks: OggRemarks): Generator<OggPacket, void, undefined> {
  const table = crcTable();
  const halves = new Map<number, Uint8Array[]>();
  for (let searched = 0; ;) {
    const start = input.peek(HEAD_BYTES);
    if (start.length === 0) break;
    const page = isPage(start) ? readPage(input, table) : undefined;
    if (!page) {
      if (start.length < HEAD_BYTES) {
        remarks.cutOff();
        return;
      }
      if (++searched > SEARCH_BYTES_MAX) throw damaged('has no more pages where they should be');
      if (searched === 1) remarks.lost(0);
      input.skip(1);
      continue;
    }
    searched = 0;
    const { stream, flags, position, lengths, body, isCut } = page;
    let held = halves.get(stream);
    if (flags & FIRST || !(flags & CONTINUED)) held = [];
    // The beginning of what goes on here was lost.
    let isHalf = (flags & CONTINUED) !== 0 && !held;
    held ??= [];
    if (halves.size >= STREAMS_MAX && !halves.has(stream)) throw damaged('has more streams than are read');
    const ends = lengths.findLastIndex((length) => length < 255);
    let at = 0;
    let isBeginning = (flags & FIRST) !== 0;
    for (const [index, length] of lengths.entries()) {
      // Of a page that is not whole, what is there is given; its checksum cannot tell whether that is right.
      if (at + length > body.length) break;
      held.push(body.subarray(at, at + length));
      at += length;
      if (length === 255) {
        if (held.length * 255 > AUDIO_PACKET_BYTES_MAX) throw damaged('has a packet that is too large');
        continue;
      }
      const isEnd = index === ends;
      const packet = {
        bytes: Buffer.concat(held),
        stream,
        isFirst: isBeginning,
        position: isEnd && position >= 0 ? position : undefined,
        isLast: isEnd && (flags & LAST) !== 0,
      };
      if (!isHalf) yield packet;
      isHalf = false;
      isBeginning = false;
      held = [];
    }
    if (isCut) {
      remarks.cutOff();
      return;
    }
    halves.set(stream, held);
    if (flags & LAST) {
      halves.delete(stream);
    }
  }
  if (halves.size > 0) remarks.cutOff();
}

interface Page {
  readonly stream: number;
  readonly flags: number;
  readonly position: number;
  readonly lengths: Uint8Array;
  readonly body: Uint8Array;
  /** The file ends in it. */
  readonly isCut: boolean;
}

const isPage = ([a, b, c, d, version]: Uint8Array): boolean =>
  a === 0x4f && b === 0x67 && c === 0x67 && d === 0x53 && version === 0;

/** @returns undefined where its checksum is another. */
function readPage(input: ByteInput, table: Uint32Array): Page | undefined {
  const count = input.peek(HEAD_BYTES)[HEAD_BYTES - 1] ?? 0;
  const head = input.peek(HEAD_BYTES + count);
  const lengths = head.slice(HEAD_BYTES, HEAD_BYTES + count);
  const bodyBytes = lengths.reduce((sum, length) => sum + length, 0);
  const whole = input.peek(HEAD_BYTES + count + bodyBytes);
  const isCut = whole.length < HEAD_BYTES + count + bodyBytes;
  const view = new DataView(whole.buffer, whole.byteOffset, whole.byteLength);
  if (!isCut && crc(whole, table) !== view.getUint32(22, true)) return undefined;
  const page = {
    stream: view.getUint32(14, true),
    flags: whole[5] ?? 0,
    position: Number(view.getBigInt64(6, true)),
    lengths,
    body: whole.slice(HEAD_BYTES + count),
    isCut,
  };
  input.skip(whole.length);
  return page;
}

/** The checksum of a page is taken as if its own four bytes were 0. */
function crc(bytes: Uint8Array, table: Uint32Array): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = at >= 22 && at < 26 ? 0 : (bytes[at] ?? 0);
    sum = ((sum << 8) ^ (table[(sum >>> 24) ^ byte] ?? 0)) >>> 0;
  }
  return sum;
}

const crcTable = (): Uint32Array =>
  Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte << 24;
    for (let bit = 0; bit < 8; bit++) value = value & 0x8000_0000 ? (value << 1) ^ 0x04c1_1db7 : value << 1;
    return value >>> 0;
  });
