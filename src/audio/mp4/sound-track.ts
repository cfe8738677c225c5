import { readAacConfig, type AacConfig } from '../aac/config.ts';
import { damaged, unsupported, type Unreadable } from '../unreadable.ts';
import { boxAt, boxesIn, nameAt, part } from './boxes.ts';
import { readSampleTable, type SampleTable } from './sample-table.ts';

/** The track of an MP4 file that is decoded. */
export interface SoundTrack {
  readonly id: number;
  readonly config: AacConfig;
  readonly samples: SampleTable;
  /** Bytes of a sample where a fragment does not say; 0 for unknown. */
  readonly fragmentSampleBytes: number;
  /** Seconds of what is decoded that are played: encoders begin before the sound and end behind it. */
  readonly from: number;
  readonly to: number;
}

const CODECS: Readonly<Record<string, string>> = {
  alac: 'ALAC (Apple Lossless)',
  Opus: 'Opus in MP4',
  fLaC: 'FLAC in MP4',
  'ac-3': 'AC-3',
  'ec-3': 'E-AC-3',
  samr: 'AMR',
  sawb: 'AMR-WB',
  '.mp3': 'MP3 in MP4',
  enca: 'encrypted',
};

/** Kinds of an elementary stream, ISO/IEC 14496-1, table 5: MPEG-4 audio, and AAC of MPEG-2. */
const AAC_STREAMS = new Set([0x40, 0x66, 0x67, 0x68]);
const MP3_STREAMS = new Set([0x69, 0x6b]);

/**
 * The first track of sound that can be decoded.
 * @param index the body of the box `moov`.
 * @throws Unreadable where there is none.
 */
export function findSoundTrack(index: DataView): SoundTrack {
  let reason: Unreadable | undefined;
  for (const { name, body } of boxesIn(index)) {
    if (name !== 'trak') continue;
    const handler = boxAt(body, 'mdia', 'hdlr');
    if (!handler || handler.byteLength < 12 || nameAt(handler, 8) !== 'soun') continue;
    const table = boxAt(body, 'mdia', 'minf', 'stbl');
    const entry = table && boxAt(table, 'stsd');
    const head = boxAt(body, 'tkhd');
    if (!table || !entry || entry.byteLength < 16 || !head || head.byteLength < 24)
      throw damaged('has an index that is not whole');
    const codec = nameAt(entry, 12);
    const config = codec === 'mp4a' ? readConfig(part(entry, 16)) : unsupportedCodec(codec);
    if ('fault' in config) {
      reason ??= config;
      continue;
    }
    const id = head.getUint32(head.getUint8(0) === 1 ? 20 : 12);
    return {
      id,
      config,
      samples: readSampleTable(table),
      fragmentSampleBytes: readFragmentSampleBytes(index, id),
      ...readEdit(index, body),
    };
  }
  throw reason ?? unsupported('has no track of sound');
}

const unsupportedCodec = (codec: string): Unreadable =>
  unsupported(`is ${CODECS[codec] ?? `MP4 of kind ${codec}`}, which is not read`);

/** @param entry of the table of descriptions, behind its head: fields of sound, of three versions, then boxes. */
function readConfig(entry: DataView): AacConfig | Unreadable {
  if (entry.byteLength < 28) throw damaged('has an index that is not whole');
  const version = entry.getUint16(8);
  const boxes = part(entry, Math.min(28 + (version === 1 ? 16 : version === 2 ? 36 : 0), entry.byteLength));
  const description = boxAt(boxes, 'esds') ?? boxAt(boxes, 'wave', 'esds');
  if (!description) throw damaged('does not say how its sound is written');
  const { stream, bytes } = readDescription(description);
  if (MP3_STREAMS.has(stream)) return unsupported('is MP3 in MP4, which is not read');
  if (!AAC_STREAMS.has(stream)) return unsupported(`is MP4 with sound of kind ${stream}, which is not read`);
  return readAacConfig(bytes);
}

/** Descriptors in each other: ISO/IEC 14496-1, 7.2.6. */
function readDescription(box: DataView): { readonly stream: number; readonly bytes: Uint8Array } {
  let at = 4;
  let stream = 0;
  const byte = (): number => {
    if (at >= box.byteLength) throw damaged('does not say how its sound is written');
    return box.getUint8(at++);
  };
  for (;;) {
    const tag = byte();
    let size = 0;
    for (let next = 0x80; next & 0x80; size = size * 128 + (next & 0x7f)) next = byte();
    if (tag === 3) {
      at += 2;
      const flags = byte();
      if (flags & 0x80) at += 2;
      if (flags & 0x40) at += byte();
      if (flags & 0x20) at += 2;
    } else if (tag === 4) {
      stream = byte();
      at += 12;
      if (MP3_STREAMS.has(stream)) return { stream, bytes: new Uint8Array() };
    } else if (tag === 5) {
      if (at + size > box.byteLength) throw damaged('does not say how its sound is written');
      return { stream, bytes: new Uint8Array(box.buffer, box.byteOffset + at, size) };
    } else at += size;
  }
}

function readFragmentSampleBytes(index: DataView, id: number): number {
  const extensions = boxAt(index, 'mvex');
  if (!extensions) return 0;
  for (const { name, body } of boxesIn(extensions)) {
    if (name === 'trex' && body.byteLength >= 24 && body.getUint32(4) === id) return body.getUint32(16);
  }
  return 0;
}

/** A single edit says where the sound begins in what is decoded, and how long it is; lists of several are for films. */
function readEdit(index: DataView, track: DataView): { readonly from: number; readonly to: number } {
  const whole = { from: 0, to: Infinity };
  const edits = boxAt(track, 'edts', 'elst');
  const movie = boxAt(index, 'mvhd');
  const media = boxAt(track, 'mdia', 'mdhd');
  if (!edits || !movie || !media || edits.byteLength < 8) return whole;
  const isLong = edits.getUint8(0) === 1;
  const width = isLong ? 20 : 12;
  const count = Math.min(edits.getUint32(4), Math.floor((edits.byteLength - 8) / width));
  const played = Array.from({ length: Math.min(count, 3) }, (_, n) => {
    const at = 8 + n * width;
    return isLong
      ? { length: Number(edits.getBigUint64(at)), start: Number(edits.getBigInt64(at + 8)) }
      : { length: edits.getUint32(at), start: edits.getInt32(at + 4) };
  }).filter(({ start }) => start >= 0);
  const [edit] = played;
  const [movieScale, mediaScale] = [timescaleOf(movie), timescaleOf(media)];
  if (!edit || played.length !== 1 || movieScale === 0 || mediaScale === 0) return whole;
  const from = edit.start / mediaScale;
  return { from, to: edit.length === 0 ? Infinity : from + edit.length / movieScale };
}

function timescaleOf(head: DataView): number {
  const at = head.byteLength > 0 && head.getUint8(0) === 1 ? 20 : 12;
  return head.byteLength >= at + 4 ? head.getUint32(at) : 0;
}
