import { parseAdtsHeader } from './aac/decode-adts.ts';
import type { ByteInput } from './byte-input.ts';
import { isFollowedByFrame, parseMp3FrameHeader } from './mp3/frame-header.ts';
import type { AudioFileFormat } from './format-decoder.ts';
import { AudioDecodingError, createUnsupportedError, createUnsupportedFormatError } from './audio-decoding-error.ts';

interface Signature {
  readonly at?: number;
  readonly text: string;
}

const SUPPORTED_SIGNATURES: readonly (Signature & { readonly kind: AudioFileFormat })[] = [
  { at: 8, text: 'WAVE', kind: 'wav' },
  { text: 'fLaC', kind: 'flac' },
  { text: 'OggS', kind: 'ogg' },
  ...['ftyp', 'moov', 'mdat', 'free', 'skip', 'wide', 'styp', 'pnot'].map((text) => ({
    at: 4,
    text,
    kind: 'mp4' as const,
  })),
];

/** Known formats that are not supported. */
const UNSUPPORTED_SIGNATURES: readonly (Signature & { readonly name: string })[] = [
  { text: 'RIFX', name: 'a big-endian WAV file' },
  { at: 8, text: 'AVI ', name: 'an AVI video' },
  { text: '#!AMR', name: 'AMR' },
  { text: 'FORM', name: 'AIFF' },
  { text: 'caff', name: 'CAF' },
  { text: '.snd', name: 'AU' },
  { text: 'ADIF', name: 'AAC with an ADIF header' },
  { text: '\x1aE\xdf\xa3', name: 'Matroska or WebM' },
  { text: '0&\xb2u', name: 'WMA or WMV' },
  { text: 'FLV', name: 'a Flash video' },
  { text: 'MThd', name: 'MIDI' },
  { text: 'wvpk', name: 'WavPack' },
  { text: 'MAC ', name: "Monkey's Audio" },
  { text: '%PDF', name: 'a PDF' },
  { text: 'PK\x03\x04', name: 'an archive' },
  { text: '\x1f\x8b', name: 'a gzip file' },
  { text: '\x89PNG', name: 'an image' },
  { text: '\xff\xd8\xff', name: 'an image' },
];

const SIGNATURE_BYTES = 16;

/** Maximum number of tags before a recording, and of bytes that are searched for a first frame. */
const TAGS_MAX = 16;
const SEARCH_BYTES_MAX = 64 * 1024;

/**
 * Detects the format of a recording from its first bytes, and moves the input to the first byte of the recording.
 * @throws AudioDecodingError if the format is unknown or not supported.
 */
export function detectFormat(input: ByteInput): AudioFileFormat {
  if (input.peek(1).length === 0) throw new AudioDecodingError('empty', 'is empty');
  for (let tags = 0; skipId3Tag(input); tags++)
    if (tags > TAGS_MAX) throw createUnsupportedError('consists of tags only');
  const firstBytes = Buffer.from(input.peek(SIGNATURE_BYTES)).toString('latin1');
  const matches = ({ at = 0, text }: Signature): boolean => firstBytes.startsWith(text, at);
  const known = SUPPORTED_SIGNATURES.find(matches);
  if (known) return known.kind;
  const other = UNSUPPORTED_SIGNATURES.find(matches);
  if (other) throw createUnsupportedFormatError(other.name);
  for (let searched = 0; searched < SEARCH_BYTES_MAX; searched++) {
    const head = input.peek(SIGNATURE_BYTES);
    if (head.length < 4) break;
    if (head[0] === 0xff) {
      const kind = detectFrameFormat(input, head);
      if (kind) return kind;
    }
    input.skip(1);
  }
  throw createUnsupportedError('is not in a known audio format');
}

/** Skips an ID3 tag. Its length consists of four bytes with seven bits each. */
function skipId3Tag(input: ByteInput): boolean {
  const head = input.peek(10);
  const [a, b, c, , , flags = 0, s3 = 0, s2 = 0, s1 = 0, s0 = 0] = head;
  if (head.length < 10 || a !== 0x49 || b !== 0x44 || c !== 0x33) return false;
  const bytes = ((s3 & 127) << 21) | ((s2 & 127) << 14) | ((s1 & 127) << 7) | (s0 & 127);
  input.skip(10 + bytes + (flags & 0x10 ? 10 : 0));
  return true;
}

/** Detects a frame, which must be followed by another frame or the end. */
function detectFrameFormat(input: ByteInput, head: Uint8Array): AudioFileFormat | undefined {
  const aac = parseAdtsHeader(head);
  if (aac) {
    const next = input.peek(aac.frameBytes + SIGNATURE_BYTES).subarray(aac.frameBytes);
    return next.length === 0 || parseAdtsHeader(next)?.sampleRate === aac.sampleRate ? 'aac' : undefined;
  }
  const mpeg = parseMp3FrameHeader(head);
  return mpeg && isFollowedByFrame(input, mpeg) ? 'mp3' : undefined;
}
