import { readAdtsHead } from './aac/adts.ts';
import type { ByteInput } from './byte-input.ts';
import { isFollowed, readMp3Head } from './mp3/frame-head.ts';
import type { AudioKind } from './recording.ts';
import { Unreadable, unsupported } from './unreadable.ts';

interface Start {
  readonly at?: number;
  readonly text: string;
}

const KNOWN: readonly (Start & { readonly kind: AudioKind })[] = [
  { at: 8, text: 'WAVE', kind: 'wav' },
  { text: 'fLaC', kind: 'flac' },
  { text: 'OggS', kind: 'ogg' },
  ...['ftyp', 'moov', 'mdat', 'free', 'skip', 'wide', 'styp', 'pnot'].map((text) => ({
    at: 4,
    text,
    kind: 'mp4' as const,
  })),
];

/** Kinds of files that are known and not read. */
const OTHERS: readonly (Start & { readonly what: string })[] = [
  { text: 'RIFX', what: 'a wav file of the other order of bytes' },
  { at: 8, text: 'AVI ', what: 'an AVI film' },
  { text: '#!AMR', what: 'AMR' },
  { text: 'FORM', what: 'AIFF' },
  { text: 'caff', what: 'CAF' },
  { text: '.snd', what: 'AU' },
  { text: 'ADIF', what: 'AAC with one head for all of it' },
  { text: '\x1aE\xdf\xa3', what: 'Matroska or WebM' },
  { text: '0&\xb2u', what: 'WMA or WMV' },
  { text: 'FLV', what: 'a Flash film' },
  { text: 'MThd', what: 'MIDI' },
  { text: 'wvpk', what: 'WavPack' },
  { text: 'MAC ', what: "Monkey's Audio" },
  { text: '%PDF', what: 'a PDF' },
  { text: 'PK\x03\x04', what: 'an archive' },
  { text: '\x1f\x8b', what: 'a packed file' },
  { text: '\x89PNG', what: 'a picture' },
  { text: '\xff\xd8\xff', what: 'a picture' },
];

const HEAD_BYTES = 16;

/** Ours: tags in front of a recording, and bytes of anything else. Beyond: it is none. */
const TAGS_MAX = 16;
const SEARCH_BYTES_MAX = 64 * 1024;

/**
 * What a recording is, by its first bytes and never by its name; the input stands at its first byte then.
 * @throws Unreadable
 */
export function sniff(input: ByteInput): AudioKind {
  if (input.peek(1).length === 0) throw new Unreadable('empty', 'is empty');
  for (let tags = 0; skipTag(input); tags++) if (tags > TAGS_MAX) throw unsupported('is nothing but tags');
  const start = Buffer.from(input.peek(HEAD_BYTES)).toString('latin1');
  const is = ({ at = 0, text }: Start): boolean => start.startsWith(text, at);
  const known = KNOWN.find(is);
  if (known) return known.kind;
  const other = OTHERS.find(is);
  if (other) throw unsupported(`is ${other.what}, which is not read`);
  for (let searched = 0; searched < SEARCH_BYTES_MAX; searched++) {
    const head = input.peek(HEAD_BYTES);
    if (head.length < 4) break;
    if (head[0] === 0xff) {
      const kind = frameAt(input, head);
      if (kind) return kind;
    }
    input.skip(1);
  }
  throw unsupported('is of a kind that is not known, or no recording');
}

/** Of ID3: its length has seven bits in each of four bytes. */
function skipTag(input: ByteInput): boolean {
  const head = input.peek(10);
  const [a, b, c, , , flags = 0, s3 = 0, s2 = 0, s1 = 0, s0 = 0] = head;
  if (head.length < 10 || a !== 0x49 || b !== 0x44 || c !== 0x33) return false;
  const bytes = ((s3 & 127) << 21) | ((s2 & 127) << 14) | ((s1 & 127) << 7) | (s0 & 127);
  input.skip(10 + bytes + (flags & 0x10 ? 10 : 0));
  return true;
}

/** A frame is one where another stands behind it. */
function frameAt(input: ByteInput, head: Uint8Array): AudioKind | undefined {
  const aac = readAdtsHead(head);
  if (aac) {
    const next = input.peek(aac.frameBytes + HEAD_BYTES).subarray(aac.frameBytes);
    return next.length === 0 || readAdtsHead(next)?.sampleRate === aac.sampleRate ? 'aac' : undefined;
  }
  const mpeg = readMp3Head(head);
  return mpeg && isFollowed(input, mpeg) ? 'mp3' : undefined;
}
