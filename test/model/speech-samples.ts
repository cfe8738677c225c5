import { readFileSync } from 'node:fs';

/** Reads the samples of a speech fixture (16 kHz, 16 bit, mono) as values from -1 to 1. */
export function readSpeechSamples(name: string): Float32Array {
  const file = readFileSync(new URL(`./__fixtures__/speech/${name}.wav`, import.meta.url));
  const from = file.indexOf('data') + 8;
  return Float32Array.from(
    { length: Math.floor((file.length - from) / 2) },
    (_, at) => file.readInt16LE(from + 2 * at) / 32_768,
  );
}
