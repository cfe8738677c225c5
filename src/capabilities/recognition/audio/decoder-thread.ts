// Main file of the thread that decodes a recording (decoder-process.ts). Its reads and writes block: nothing is read
// ahead, and
// nothing is decoded before the consumer takes it.
import { readSync, writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import { assert, AssertionError } from '../../../lib/assert.ts';
import type { DecodingEnd, ChannelSelection, DecodingLimits } from './audio.ts';
import { createByteInput } from './byte-input.ts';
import {
  FRAME_SOURCE_BYTES,
  FRAME_RESULT,
  FRAME_BYTES_MAX,
  FRAME_HEADER_BYTES,
  encodeFrameHeader,
  FRAME_SEEK,
  FRAME_SEEK_DONE,
  FRAME_REQUEST,
  decodeFrameHeader,
  FRAME_SAMPLES,
} from './pipe-frames.ts';
import { readAudio } from './read-audio.ts';

/** Content of the first frame. */
export interface DecodingRequest {
  readonly limits: DecodingLimits;
  readonly channel: ChannelSelection;
  readonly blockSamples: number;
  /** Absent for a stream, which cannot move backwards. */
  readonly sizeBytes?: number | undefined;
}

export type DecoderThreadMessage =
  | { readonly type: 'started'; readonly limits: DecodingLimits }
  | { readonly type: 'finished' };

const STDIN = 0;
const STDOUT = 1;
const MIB = 1024 * 1024;

assert(parentPort, 'this file must run in a worker thread');
const port = parentPort;
const progress = workerData as Float64Array;
const postMessage = (message: DecoderThreadMessage): void => port.postMessage(message);

const first = readFrame();
assert(first?.kind === FRAME_REQUEST, 'the first frame must be the request');
// The parent process created the request, so it is not validated.
const request = JSON.parse(Buffer.from(first.bytes).toString('utf8')) as DecodingRequest;
const { limits, sizeBytes } = request;
postMessage({ type: 'started', limits });

let samples = 0;
const input = createByteInput({ pull, sizeBytes, seekSource: sizeBytes === undefined ? undefined : seekSource });
let end: DecodingEnd;
try {
  end = await readAudio(input, {
    channel: request.channel,
    secondsMax: limits.secondsMax,
    blockSamples: request.blockSamples,
    emit(block) {
      samples += block.length;
      progress[0] = samples / SPEECH_SAMPLE_RATE;
      writeFrame(FRAME_SAMPLES, new Uint8Array(block.buffer, block.byteOffset, block.byteLength));
    },
  });
} catch (error) {
  // System errors have a code, and failed assertions are faults of Parley; all other errors are caused by the
  // recording.
  const isInternal = error instanceof AssertionError || (error instanceof Error && 'code' in error);
  if (isInternal && !(error instanceof RangeError)) throw error;
  end = { type: 'failed', fault: 'damaged', reason: 'The audio is damaged or not supported.' };
}
writeFrame(FRAME_RESULT, Buffer.from(JSON.stringify(end)));
postMessage({ type: 'finished' });

function pull(): Uint8Array | undefined {
  const frame = readFrame();
  if (frame?.kind !== FRAME_SOURCE_BYTES) return undefined;
  progress[1] = (progress[1] ?? 0) + frame.bytes.length / MIB;
  return frame.bytes;
}

function seekSource(to: number): void {
  const position = new Uint8Array(8);
  new DataView(position.buffer).setFloat64(0, to, true);
  writeFrame(FRAME_SEEK, position);
  // Discard frames that were sent before the new position took effect.
  for (let kind: number | undefined; kind !== FRAME_SEEK_DONE;) {
    const frame = readFrame();
    assert(frame, 'a seek must be confirmed');
    kind = frame.kind;
  }
}

interface ReceivedFrame {
  readonly kind: number;
  readonly bytes: Uint8Array;
}

/** Reads a frame. Returns undefined if the parent has closed the pipe. */
function readFrame(): ReceivedFrame | undefined {
  const header = readBytes(FRAME_HEADER_BYTES);
  if (!header) return undefined;
  const { kind, bytes } = decodeFrameHeader(header);
  assert(bytes <= FRAME_BYTES_MAX, 'a frame must not exceed the size limit');
  const body = readBytes(bytes);
  return body && { kind, bytes: body };
}

function readBytes(count: number): Uint8Array | undefined {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count;) {
    const read = readSync(STDIN, bytes, at, count - at, null);
    if (read === 0) return undefined;
    at += read;
  }
  return bytes;
}

function writeFrame(kind: number, body: Uint8Array): void {
  const frame = Buffer.concat([encodeFrameHeader(kind, body.length), body]);
  for (let at = 0; at < frame.length;) at += writeSync(STDOUT, frame, at);
}
