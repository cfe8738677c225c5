import { SPEECH_SAMPLE_RATE } from '../src/core/speech.ts';

const HEAD_BYTES = 44;

/** A recording of these stretches one after the other: 16 bit, mono, 16 kHz. */
export function wavOf(stretches: readonly Float32Array[]): Buffer {
  const samples = stretches.flatMap((stretch) => Array.from(stretch, (value) => Math.round(value * 32_767)));
  const file = Buffer.alloc(HEAD_BYTES + 2 * samples.length);
  file.write('RIFF', 0);
  file.writeUInt32LE(file.length - 8, 4);
  file.write('WAVEfmt ', 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(SPEECH_SAMPLE_RATE, 24);
  file.writeUInt32LE(2 * SPEECH_SAMPLE_RATE, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write('data', 36);
  file.writeUInt32LE(2 * samples.length, 40);
  for (const [at, value] of samples.entries()) file.writeInt16LE(value, HEAD_BYTES + 2 * at);
  return file;
}
