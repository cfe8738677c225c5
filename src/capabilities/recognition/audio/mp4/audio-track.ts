import { parseAacConfig, type AacConfig } from '../aac/aac-config.ts';
import {
  createDamagedError,
  createUnsupportedError,
  type AudioDecodingError,
  createNoCodecError,
  createUnsupportedFormatError,
} from '../audio-decoding-error.ts';
import { findBox, iterateBoxes, readBoxName, sliceView } from './boxes.ts';
import { readSampleTable, type SampleTable } from './sample-table.ts';

/** The audio track of an MP4 file that is decoded. */
export interface AudioTrack {
  readonly id: number;
  readonly config: AacConfig;
  readonly samples: SampleTable;
  /** Default sample size in fragments, in bytes; 0: unknown. */
  readonly fragmentSampleBytes: number;
  /** Part of the decoded audio that is played, in seconds: encoders add samples before and after the audio. */
  readonly startSeconds: number;
  readonly endSeconds: number;
}

const UNSUPPORTED_CODECS: Readonly<Record<string, string>> = {
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

/** Object types of elementary streams (ISO/IEC 14496-1, table 5): MPEG-4 audio and MPEG-2 AAC; MP3. */
const AAC_OBJECT_TYPES = new Set([0x40, 0x66, 0x67, 0x68]);
const MP3_OBJECT_TYPES = new Set([0x69, 0x6b]);

/**
 * Finds the first audio track that can be decoded.
 * @param index Content of the `moov` box.
 * @throws AudioDecodingError if there is none.
 */
export function findAudioTrack(index: DataView): AudioTrack {
  let reason: AudioDecodingError | undefined;
  for (const { name, body } of iterateBoxes(index)) {
    if (name !== 'trak') continue;
    const handler = findBox(body, 'mdia', 'hdlr');
    if (!handler || handler.byteLength < 12 || readBoxName(handler, 8) !== 'soun') continue;
    const table = findBox(body, 'mdia', 'minf', 'stbl');
    const entry = table && findBox(table, 'stsd');
    const header = findBox(body, 'tkhd');
    if (!table || !entry || entry.byteLength < 16 || !header || header.byteLength < 24)
      throw createDamagedError('has an incomplete index');
    const codec = readBoxName(entry, 12);
    const config = codec === 'mp4a' ? parseSampleEntry(sliceView(entry, 16)) : createCodecError(codec);
    if ('fault' in config) {
      reason ??= config;
      continue;
    }
    const id = header.getUint32(header.getUint8(0) === 1 ? 20 : 12);
    return {
      id,
      config,
      samples: readSampleTable(table),
      fragmentSampleBytes: readFragmentSampleBytes(index, id),
      ...readEditList(index, body),
    };
  }
  throw reason ?? createUnsupportedError('has no audio track');
}

const createCodecError = (codec: string): AudioDecodingError =>
  createUnsupportedError(`is ${UNSUPPORTED_CODECS[codec] ?? `MP4 with the codec ${codec}`}, which is not supported`);

/**
 * Parses a sample entry.
 * @param entry Content after the entry's header: fields of one of three versions, then boxes.
 */
function parseSampleEntry(entry: DataView): AacConfig | AudioDecodingError {
  if (entry.byteLength < 28) throw createDamagedError('has an incomplete index');
  const version = entry.getUint16(8);
  const boxes = sliceView(entry, Math.min(28 + (version === 1 ? 16 : version === 2 ? 36 : 0), entry.byteLength));
  const description = findBox(boxes, 'esds') ?? findBox(boxes, 'wave', 'esds');
  if (!description) throw createNoCodecError();
  const { objectType, bytes } = parseDecoderConfig(description);
  if (MP3_OBJECT_TYPES.has(objectType)) return createUnsupportedFormatError('MP3 in MP4');
  if (!AAC_OBJECT_TYPES.has(objectType))
    return createUnsupportedError(`is MP4 with the object type ${objectType}, which is not supported`);
  return parseAacConfig(bytes);
}

/** Parses the nested descriptors of an elementary stream (ISO/IEC 14496-1, 7.2.6). */
function parseDecoderConfig(box: DataView): { readonly objectType: number; readonly bytes: Uint8Array } {
  let at = 4;
  let objectType = 0;
  const byte = (): number => {
    if (at >= box.byteLength) throw createNoCodecError();
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
      objectType = byte();
      at += 12;
      if (MP3_OBJECT_TYPES.has(objectType)) return { objectType, bytes: new Uint8Array() };
    } else if (tag === 5) {
      if (at + size > box.byteLength) throw createNoCodecError();
      return { objectType, bytes: new Uint8Array(box.buffer, box.byteOffset + at, size) };
    } else at += size;
  }
}

function readFragmentSampleBytes(index: DataView, id: number): number {
  const extensions = findBox(index, 'mvex');
  if (!extensions) return 0;
  for (const { name, body } of iterateBoxes(extensions)) {
    if (name === 'trex' && body.byteLength >= 24 && body.getUint32(4) === id) return body.getUint32(16);
  }
  return 0;
}

/**
 * Reads an edit list with a single edit: the start and length of the audio. Longer lists, which films use, are ignored.
 */
function readEditList(
  index: DataView,
  track: DataView,
): { readonly startSeconds: number; readonly endSeconds: number } {
  const whole = { startSeconds: 0, endSeconds: Infinity };
  const edits = findBox(track, 'edts', 'elst');
  const movie = findBox(index, 'mvhd');
  const media = findBox(track, 'mdia', 'mdhd');
  if (!edits || !movie || !media || edits.byteLength < 8) return whole;
  const isLong = edits.getUint8(0) === 1;
  const width = isLong ? 20 : 12;
  const count = Math.min(edits.getUint32(4), Math.floor((edits.byteLength - 8) / width));
  const editEntries = Array.from({ length: Math.min(count, 3) }, (_, n) => {
    const at = 8 + n * width;
    return isLong
      ? { length: Number(edits.getBigUint64(at)), start: Number(edits.getBigInt64(at + 8)) }
      : { length: edits.getUint32(at), start: edits.getInt32(at + 4) };
  }).filter(({ start }) => start >= 0);
  const [edit] = editEntries;
  const [movieScale, mediaScale] = [getTimescale(movie), getTimescale(media)];
  if (!edit || editEntries.length !== 1 || movieScale === 0 || mediaScale === 0) return whole;
  const startSeconds = edit.start / mediaScale;
  return { startSeconds, endSeconds: edit.length === 0 ? Infinity : startSeconds + edit.length / movieScale };
}

function getTimescale(header: DataView): number {
  const at = header.byteLength > 0 && header.getUint8(0) === 1 ? 20 : 12;
  return header.byteLength >= at + 4 ? header.getUint32(at) : 0;
}
