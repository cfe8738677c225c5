import { SPEECH_SAMPLE_RATE } from '../../../../core/speech.ts';

const HEAD_BYTES = 44;

export interface TestWavOptions {
  /** Hz. */
  readonly sampleRate?: number;
  readonly channels?: number;
  /** Length of the data chunk according to its header; default: its real length. */
  readonly statedBytes?: number;
  /** Format code; 1: integers. */
  readonly format?: number;
}

/** Creates the header of a WAV file with 16-bit samples. */
export function createTestWavHeader(bytes: number, options: TestWavOptions = {}): Buffer {
  const { sampleRate = SPEECH_SAMPLE_RATE, channels = 1, statedBytes = bytes, format = 1 } = options;
  const header = Buffer.alloc(HEAD_BYTES);
  header.write('RIFF', 0);
  header.writeUInt32LE(HEAD_BYTES - 8 + bytes, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(format, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE((sampleRate * channels * 2) >>> 0, 28);
  header.writeUInt16LE(channels * 2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(statedBytes, 40);
  return header;
}

/** Creates a WAV file. */
export const createTestWavFile = (samples: Uint8Array, options: TestWavOptions = {}): Buffer =>
  Buffer.concat([createTestWavHeader(samples.length, options), samples]);

/** Encodes samples from −1 to 1 as 16-bit little-endian integers. */
export function encodePcm16(samples: Float32Array): Buffer {
  const bytes = Buffer.alloc(samples.length * 2);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  samples.forEach((sample, at) => view.setInt16(at * 2, Math.round(sample * 32_767), true));
  return bytes;
}
