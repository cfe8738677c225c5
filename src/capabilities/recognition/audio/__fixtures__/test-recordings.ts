import { readFileSync } from 'node:fs';
import { createByteInput, type ByteInput } from '../byte-input.ts';
import { decodeFlac } from '../flac/decode-flac.ts';
import type { DecodingEnd } from '../audio.ts';
import { readAudio, type ReadAudioOptions } from '../read-audio.ts';
import type { FormatDecoder, DecodingReporter } from '../format-decoder.ts';

export const readTestRecording = (name: string): Buffer => readFileSync(new URL(name, import.meta.url));

/** Creates an input of chunks with these sizes, repeatedly; by default one chunk. */
export function createTestInput(bytes: Uint8Array, sizes: readonly number[] = [Infinity], canJump = true): ByteInput {
  let at = 0;
  let chunk = 0;
  return createByteInput({
    sizeBytes: bytes.length,
    seekSource: canJump ? (to) => void (at = to) : undefined,
    pull() {
      if (at >= bytes.length) return undefined;
      const size = Math.max(1, sizes[chunk++ % sizes.length] ?? 1);
      const piece = Uint8Array.from(bytes.subarray(at, at + size));
      at += piece.length;
      return piece;
    },
  });
}

const IGNORING_REPORTER: DecodingReporter = { reportTruncated: () => undefined, reportLoss: () => undefined, reportCoreOnly: () => undefined, reportCodec: () => undefined };

/** Decodes a recording at its own sampling rate. */
export async function decodeChannels(decode: FormatDecoder, bytes: Uint8Array): Promise<readonly Float32Array[]> {
  const all: number[][] = [];
  for await (const { channels } of decode(createTestInput(bytes), IGNORING_REPORTER)) {
    for (const [index, samples] of channels.entries()) (all[index] ??= []).push(...samples);
  }
  return all.map((samples) => Float32Array.from(samples));
}

export const decodeReference = (name: string): Promise<readonly Float32Array[]> => decodeChannels(decodeFlac, readTestRecording(`${name}.flac`));

/** Measures the ratio of the expected signal to the difference, in dB, over the length of the shorter one. */
export function measureSignalToError(found: Float32Array | undefined, expected: Float32Array | undefined): number {
  let [signal, error] = [0, 0];
  for (let n = 0; n < Math.min(found?.length ?? 0, expected?.length ?? 0); n++) {
    signal += (expected?.[n] ?? 0) ** 2;
    error += ((found?.[n] ?? 0) - (expected?.[n] ?? 0)) ** 2;
  }
  return 10 * Math.log10(signal / error);
}

/** Decodes a recording as the service does: one channel at 16 kHz, and the final event. */
export async function decodeTestAudio(
  input: ByteInput,
  options: Partial<ReadAudioOptions> = {},
): Promise<{ readonly end: DecodingEnd; readonly samples: Float32Array }> {
  const blocks: Float32Array[] = [];
  const end = await readAudio(input, {
    channel: 'mix',
    secondsMax: 3_600,
    blockSamples: 1_600,
    emit: (block) => void blocks.push(block),
    ...options,
  });
  const samples = new Float32Array(blocks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const block of blocks) {
    samples.set(block, at);
    at += block.length;
  }
  return { end, samples };
}

export const summarizeEnd = (end: DecodingEnd): string =>
  end.type === 'failed' ? `${end.fault}: ${end.reason}` : `${end.report.kind} ${end.report.codec} ${end.report.sampleRate}/${end.report.channels}`;
