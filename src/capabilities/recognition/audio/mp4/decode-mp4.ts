import { AUDIO_INDEX_BYTES_MAX, AUDIO_PACKET_BYTES_MAX } from '../limits.ts';
import { createAacDecoder } from '../aac/aac-decoder.ts';
import { decodeFrameOrSilence } from '../aac/decode-adts.ts';
import type { ByteInput } from '../byte-input.ts';
import type { DecodingReporter, DecodedBlock } from '../format-decoder.ts';
import { createDamagedError, createPacketSizeError } from '../audio-decoding-error.ts';
import { readFragmentSamples } from './read-fragment-samples.ts';
import type { SampleLocation } from './sample-table.ts';
import { findAudioTrack, type AudioTrack } from './audio-track.ts';

/** Decodes the first AAC track of an MP4 file. The index may be anywhere in the file, or in fragments. */
export function* decodeMp4(input: ByteInput, reporter: DecodingReporter): Generator<DecodedBlock, void, undefined> {
  let decodeSample: ((sampleLocation: SampleLocation) => Generator<DecodedBlock, void, undefined>) | undefined;
  let track: AudioTrack | undefined;
  let fragmentSamples: readonly SampleLocation[] = [];
  for (;;) {
    const at = input.getPosition();
    const header = readBoxHeader(input);
    if (header === 'end') break;
    if (header === 'cut') {
      if (track) reporter.reportTruncated();
      break;
    }
    const { name, bodyBytes } = header;
    if (name === 'moov' && !track) {
      track = findAudioTrack(readBoxBody(input, bodyBytes));
      decodeSample = createSampleDecoder(input, reporter, track);
      if (track.samples.count > 0) {
        for (const sampleLocation of track.samples.iterateSamples()) yield* decodeSample(sampleLocation);
        return;
      }
    } else if (name === 'moof' && track) {
      fragmentSamples = readFragmentSamples(readBoxBody(input, bodyBytes), at, track);
    } else if (name === 'mdat' && decodeSample && fragmentSamples.length > 0) {
      const end = input.getPosition() + bodyBytes;
      for (const place of fragmentSamples) yield* decodeSample(place);
      fragmentSamples = [];
      if (end === Infinity || end < input.getPosition()) break;
      input.seek(end);
    } else if (bodyBytes === Infinity || !input.skip(bodyBytes)) {
      if (track) reporter.reportTruncated();
      break;
    }
  }
  if (!track) throw createDamagedError('has no index: the file is incomplete');
}

interface BoxHeader {
  readonly name: string;
  /** Infinity if the box extends to the end of the file. */
  readonly bodyBytes: number;
}

function readBoxHeader(input: ByteInput): BoxHeader | 'end' | 'cut' {
  const header = input.read(8);
  if (header.length === 0) return 'end';
  if (header.length < 8) return 'cut';
  const short = new DataView(header.buffer).getUint32(0);
  const name = String.fromCharCode(...header.subarray(4));
  if (short === 0) return { name, bodyBytes: Infinity };
  if (short !== 1) {
    if (short < 8) throw createDamagedError('has an invalid box');
    return { name, bodyBytes: short - 8 };
  }
  const long = input.read(8);
  if (long.length < 8) return 'cut';
  const bytes = Number(new DataView(long.buffer).getBigUint64(0));
  if (bytes < 16) throw createDamagedError('has an invalid box');
  return { name, bodyBytes: bytes - 16 };
}

function readBoxBody(input: ByteInput, bytes: number): DataView {
  if (bytes > AUDIO_INDEX_BYTES_MAX) throw createDamagedError('has an index that is too large');
  const body = input.read(bytes);
  if (body.length < bytes) throw createDamagedError('has an incomplete index: the end of the file is missing');
  return new DataView(body.buffer, body.byteOffset, body.byteLength);
}

/** Creates a function that decodes the samples of a track in order, and omits samples outside of its edit. */
function createSampleDecoder(
  input: ByteInput,
  reporter: DecodingReporter,
  { config, startSeconds, endSeconds }: AudioTrack,
): (place: SampleLocation) => Generator<DecodedBlock, void, undefined> {
  const { sampleRate } = config;
  const decoder = createAacDecoder(config);
  const [first, last] = [
    Math.round(startSeconds * sampleRate),
    endSeconds === Infinity ? Infinity : Math.round(endSeconds * sampleRate),
  ];
  let decodedCount = 0;
  let isTruncated = false;
  reporter.reportCodec('aac');

  return function* decodeSample({ position, bytes }) {
    if (isTruncated || decodedCount >= last) return;
    if (bytes > AUDIO_PACKET_BYTES_MAX) throw createPacketSizeError();
    if (bytes === 0) return;
    input.seek(position);
    const frame = input.read(bytes);
    if (frame.length < bytes) {
      isTruncated = true;
      return reporter.reportTruncated();
    }
    const channels = decodeFrameOrSilence(decoder, frame, reporter);
    if (decoder.hasSbr()) reporter.reportCoreOnly();
    const count = channels[0]?.length ?? 0;
    const [start, end] = [Math.max(0, first - decodedCount), Math.min(count, last - decodedCount)];
    decodedCount += count;
    if (end > start) yield { sampleRate, channels: channels.map((samples) => samples.subarray(start, end)) };
  };
}
