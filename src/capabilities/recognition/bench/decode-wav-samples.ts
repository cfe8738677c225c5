import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import { createResampler } from '../audio/resampler.ts';

/**
 * Decodes a WAV file of 16 bit, mono, and resamples it for the engine. The data chunk is the last one and reaches to the
 * end of the file, because programs that write to a pipe state a wrong length.
 */
export function decodeWavSamples(wav: Buffer): Float32Array {
  const from = wav.indexOf('data') + 8;
  const samples = Float32Array.from(
    { length: Math.floor((wav.length - from) / 2) },
    (_, at) => wav.readInt16LE(from + 2 * at) / 32_768,
  );
  const resampler = createResampler({ from: wav.readUInt32LE(24), to: SPEECH_SAMPLE_RATE });
  const [start, rest] = [resampler.push(samples), resampler.end()];
  const all = new Float32Array(start.length + rest.length);
  all.set(start);
  all.set(rest, start.length);
  return all;
}
