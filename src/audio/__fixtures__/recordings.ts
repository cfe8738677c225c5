import { readFileSync } from 'node:fs';
import { createByteInput, type ByteInput } from '../byte-input.ts';
import { decodeFlac } from '../flac/decode-flac.ts';
import type { AudioEnd } from '../audio.ts';
import { readAudio, type ReadingWish } from '../read-audio.ts';
import type { DecodeSound, Remarks } from '../recording.ts';

export const recording = (name: string): Buffer => readFileSync(new URL(name, import.meta.url));

/** The whole of it at once, or in pieces of these sizes in turn. */
export function inputOf(bytes: Uint8Array, sizes: readonly number[] = [Infinity], canJump = true): ByteInput {
  let at = 0;
  let turn = 0;
  return createByteInput({
    sizeBytes: bytes.length,
    jump: canJump ? (to) => void (at = to) : undefined,
    pull() {
      if (at >= bytes.length) return undefined;
      const size = Math.max(1, sizes[turn++ % sizes.length] ?? 1);
      const piece = Uint8Array.from(bytes.subarray(at, at + size));
      at += piece.length;
      return piece;
    },
  });
}

const QUIET: Remarks = { cutOff: () => undefined, lost: () => undefined, lowerHalf: () => undefined, written: () => undefined };

/** The channels as a decoder gives them, at their own rate. */
export async function channelsOf(decode: DecodeSound, bytes: Uint8Array): Promise<readonly Float32Array[]> {
  const all: number[][] = [];
  for await (const { channels } of decode(inputOf(bytes), QUIET)) {
    for (const [index, samples] of channels.entries()) (all[index] ??= []).push(...samples);
  }
  return all.map((samples) => Float32Array.from(samples));
}

export const referenceOf = (name: string): Promise<readonly Float32Array[]> => channelsOf(decodeFlac, recording(`${name}.flac`));

/** How far the difference is below what is expected, in decibels; both as long as the shorter one. */
export function closeness(found: Float32Array | undefined, expected: Float32Array | undefined): number {
  let [signal, error] = [0, 0];
  for (let n = 0; n < Math.min(found?.length ?? 0, expected?.length ?? 0); n++) {
    signal += (expected?.[n] ?? 0) ** 2;
    error += ((found?.[n] ?? 0) - (expected?.[n] ?? 0)) ** 2;
  }
  return 10 * Math.log10(signal / error);
}

/** A recording as the service has it: one channel at 16 kHz, and how it ended. */
export async function read(
  input: ByteInput,
  wish: Partial<ReadingWish> = {},
): Promise<{ readonly end: AudioEnd; readonly samples: Float32Array }> {
  const blocks: Float32Array[] = [];
  const end = await readAudio(input, {
    channel: 'mix',
    secondsMax: 3_600,
    blockSamples: 1_600,
    emit: (block) => void blocks.push(block),
    ...wish,
  });
  const samples = new Float32Array(blocks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const block of blocks) {
    samples.set(block, at);
    at += block.length;
  }
  return { end, samples };
}

export const summary = (end: AudioEnd): string =>
  end.type === 'failed' ? `${end.fault}: ${end.reason}` : `${end.report.kind} ${end.report.codec} ${end.report.sampleRate}/${end.report.channels}`;
