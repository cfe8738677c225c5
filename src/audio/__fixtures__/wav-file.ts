import { SPEECH_SAMPLE_RATE } from '../../core/speech.ts';

const HEAD_BYTES = 44;

export interface WavFacts {
  /** Hz. */
  readonly sampleRate?: number;
  readonly channels?: number;
  /** Of the part with the sound, as its head says; what it has, where it is not given. */
  readonly statedBytes?: number;
  /** 1: integers. */
  readonly format?: number;
}

/** What stands before so many bytes of samples of 16 bits in a WAV file. */
export function wavHead(bytes: number, facts: WavFacts = {}): Buffer {
  const { sampleRate = SPEECH_SAMPLE_RATE, channels = 1, statedBytes = bytes, format = 1 } = facts;
  const head = Buffer.alloc(HEAD_BYTES);
  head.write('RIFF', 0);
  head.writeUInt32LE(HEAD_BYTES - 8 + bytes, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(format, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(sampleRate, 24);
  head.writeUInt32LE((sampleRate * channels * 2) >>> 0, 28);
  head.writeUInt16LE(channels * 2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(statedBytes, 40);
  return head;
}

/** A WAV file of these samples. */
export const wavFile = (samples: Uint8Array, facts: WavFacts = {}): Buffer =>
  Buffer.concat([wavHead(samples.length, facts), samples]);

/** Numbers from −1 to 1 as samples of 16 bits, the lower byte first. */
export function pcm(samples: Float32Array): Buffer {
  const bytes = Buffer.alloc(samples.length * 2);
  for (const [at, sample] of samples.entries()) bytes.writeInt16LE(Math.round(sample * 32_767), at * 2);
  return bytes;
}
