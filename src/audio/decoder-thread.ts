// Main file of the thread in which a recording is decoded (decoder-process.ts). It waits where it reads and where it writes:
// nothing is read ahead, and nothing is decoded that nobody takes.
import { readSync, writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { SPEECH_SAMPLE_RATE } from '../core/speech.ts';
import { assert, AssertionError } from '../lib/assert.ts';
import type { AudioEnd, ChannelChoice, DecodingLimits } from './audio.ts';
import { createByteInput } from './byte-input.ts';
import {
  BYTES,
  ENDED,
  FRAME_BYTES_MAX,
  FRAME_HEAD_BYTES,
  frameHead,
  MOVE,
  MOVED,
  ORDER,
  readFrameHead,
  SOUND,
} from './frames.ts';
import { readAudio } from './read-audio.ts';

/** The first frame. */
export interface DecoderOrder {
  readonly limits: DecodingLimits;
  readonly channel: ChannelChoice;
  readonly blockSamples: number;
  /** Absent for a stream, which only goes forwards. */
  readonly sizeBytes?: number | undefined;
}

export type DecoderNews = { readonly type: 'begun'; readonly limits: DecodingLimits } | { readonly type: 'ended' };

const STDIN = 0;
const STDOUT = 1;
const MIB = 1024 * 1024;

assert(parentPort, 'this is the main file of a thread');
const port = parentPort;
const done = workerData as Float64Array;
const tell = (news: DecoderNews): void => port.postMessage(news);

const first = readFrame();
assert(first?.kind === ORDER, 'the first frame is the order');
// The process that started us wrote it.
const order = JSON.parse(Buffer.from(first.bytes).toString('utf8')) as DecoderOrder;
const { limits, sizeBytes } = order;
tell({ type: 'begun', limits });

let samples = 0;
const input = createByteInput({ pull, sizeBytes, jump: sizeBytes === undefined ? undefined : jump });
let end: AudioEnd;
try {
  end = await readAudio(input, {
    channel: order.channel,
    secondsMax: limits.secondsMax,
    blockSamples: order.blockSamples,
    emit(block) {
      samples += block.length;
      done[0] = samples / SPEECH_SAMPLE_RATE;
      writeFrame(SOUND, new Uint8Array(block.buffer, block.byteOffset, block.byteLength));
    },
  });
} catch (error) {
  // What has a code is of the system and not of the recording; so is what we are sure of and is not so.
  const isOurs = error instanceof AssertionError || (error instanceof Error && 'code' in error);
  if (isOurs && !(error instanceof RangeError)) throw error;
  end = { type: 'failed', fault: 'damaged', reason: 'The audio is damaged, or of a kind that is not understood.' };
}
writeFrame(ENDED, Buffer.from(JSON.stringify(end)));
tell({ type: 'ended' });

function pull(): Uint8Array | undefined {
  const frame = readFrame();
  if (frame?.kind !== BYTES) return undefined;
  done[1] = (done[1] ?? 0) + frame.bytes.length / MIB;
  return frame.bytes;
}

function jump(to: number): void {
  const place = new Uint8Array(8);
  new DataView(place.buffer).setFloat64(0, to, true);
  writeFrame(MOVE, place);
  // What is on its way yet is from the place before.
  for (let kind: number | undefined; kind !== MOVED;) {
    const frame = readFrame();
    assert(frame, 'a jump is answered');
    kind = frame.kind;
  }
}

interface Frame {
  readonly kind: number;
  readonly bytes: Uint8Array;
}

/** @returns undefined where whoever wants this is gone. */
function readFrame(): Frame | undefined {
  const head = readWhole(FRAME_HEAD_BYTES);
  if (!head) return undefined;
  const { kind, bytes } = readFrameHead(head);
  assert(bytes <= FRAME_BYTES_MAX, 'a frame is no larger than it may be');
  const body = readWhole(bytes);
  return body && { kind, bytes: body };
}

function readWhole(count: number): Uint8Array | undefined {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count;) {
    const read = readSync(STDIN, bytes, at, count - at, null);
    if (read === 0) return undefined;
    at += read;
  }
  return bytes;
}

function writeFrame(kind: number, body: Uint8Array): void {
  const whole = Buffer.concat([frameHead(kind, body.length), body]);
  for (let at = 0; at < whole.length;) at += writeSync(STDOUT, whole, at);
}
