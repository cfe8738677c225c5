import { ServiceError } from '../core/error.ts';
import { createResampler } from './resample.ts';
import { createWavHead } from './wav-head.ts';

/** Uncompressed audio that comes in pieces, as samples of speech. */
export interface PcmStream {
  push(bytes: Uint8Array): Promise<Float32Array>;
  end(): Promise<Float32Array>;
  close(): void;
}

interface Form {
  readonly sampleRate: number;
  readonly channels: number;
}

const SAMPLE_BYTES = 2;

/**
 * Samples of 16 bits, little end first: bare, or with the head of a WAV file before them, which says its rate itself.
 *
 * @throws ServiceError `unsupported` for any other format; `push` and `end` reject with `invalid-request`.
 */
export function openPcmStream({
  format,
  sampleRate,
}: {
  readonly format: string;
  readonly sampleRate: number;
}): PcmStream {
  if (format !== 'pcm' && format !== 'wav') throw notRead(format);
  const head = format === 'wav' ? createWavHead() : undefined;
  let samples = format === 'pcm' ? createSamples({ sampleRate, channels: 1 }) : undefined;
  return {
    async push(bytes) {
      if (samples) return samples.push(bytes);
      const read = head?.push(bytes);
      if (!read) return new Float32Array(0);
      samples = createSamples(read);
      return samples.push(read.rest);
    },
    async end() {
      if (!samples) throw new ServiceError('invalid-request', 'The audio is no WAV file: it has no samples.');
      return samples.finish();
    },
    close: () => undefined,
  };
}

const notRead = (format: string): ServiceError =>
  new ServiceError(
    'unsupported',
    `Audio of the format ${JSON.stringify(format.slice(0, 40))} is not read here; pcm and wav are.`,
    {
      param: 'payload.parameters.format',
    },
  );

/** Bytes as samples of one channel, however they are cut. */
function createSamples({ sampleRate, channels }: Form) {
  const resampler = createResampler(sampleRate);
  const frameBytes = SAMPLE_BYTES * channels;
  let rest: Uint8Array = new Uint8Array(0);
  return {
    push(bytes: Uint8Array): Float32Array {
      const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      const whole = all.length - (all.length % frameBytes);
      rest = all.slice(whole);
      const view = new DataView(all.buffer, all.byteOffset, whole);
      const mono = new Float32Array(whole / frameBytes);
      for (let at = 0; at < mono.length; at += 1) {
        let sum = 0;
        for (let channel = 0; channel < channels; channel += 1)
          sum += view.getInt16(at * frameBytes + channel * SAMPLE_BYTES, true);
        mono[at] = sum / (channels * 32_768);
      }
      return resampler.push(mono);
    },
    finish: () => resampler.finish(),
  };
}
