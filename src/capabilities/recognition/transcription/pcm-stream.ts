import { ServiceError } from '../../../core/error.ts';
import { createBatchQueue } from '../../../lib/batch-queue.ts';
import { createResampler } from '../audio/resampler.ts';
import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import type { OpenAudioStream, RealtimeAudioEvent } from './realtime-audio-stream.ts';
import { createWavHeaderParser } from './wav-header.ts';

interface PcmFormat {
  readonly sampleRate: number;
  readonly channels: number;
}

const SAMPLE_BYTES = 2;

/**
 * Opens a stream of 16-bit little-endian samples, cheap enough to need no process: raw, or with a WAV header, whose sample rate then applies.
 *
 * @throws ServiceError `unsupported` for any other format.
 */
export const openPcmStream: OpenAudioStream = ({ format, sampleRate }) => {
  if (format !== 'pcm' && format !== 'wav') throw createUnsupportedFormatError(format);
  const queue = createBatchQueue<RealtimeAudioEvent>({ waitingMax: Infinity });
  const headerParser = createWavHeaderParser();
  let converter = format === 'pcm' ? createPcmConverter({ sampleRate, channels: 1 }) : undefined;

  const emit = (event: RealtimeAudioEvent): void => {
    if (event.type === 'sound' && event.samples.length === 0) return;
    queue.push(event);
    if (event.type !== 'sound') queue.end();
  };

  const convertBytes = (bytes: Uint8Array): Float32Array => {
    if (converter) return converter.push(bytes);
    const header = headerParser.push(bytes);
    if (!header) return new Float32Array(0);
    converter = createPcmConverter(header);
    return converter.push(header.rest);
  };

  /** Emits the converted samples. An error becomes an event, so that the samples before it come first. */
  const emitOrFail = (convert: () => Float32Array): void => {
    try {
      emit({ type: 'sound', samples: convert() });
    } catch (error) {
      emit({ type: 'failed', reason: ServiceError.from(error).message });
    }
  };

  return {
    push: async (bytes) => emitOrFail(() => convertBytes(bytes)),
    async end() {
      if (!converter)
        return emit({ type: 'failed', reason: 'The audio is not a valid WAV file: it contains no samples.' });
      const { finish } = converter;
      emitOrFail(() => finish());
      emit({ type: 'end' });
    },
    events: flattenBatches(queue),
    close: async () => queue.end(),
  };
};

async function* flattenBatches<Item>(batches: AsyncIterable<readonly Item[]>): AsyncGenerator<Item> {
  for await (const batch of batches) yield* batch;
}

const createUnsupportedFormatError = (format: string): ServiceError =>
  new ServiceError(
    'unsupported',
    `Unsupported audio format ${JSON.stringify(format.slice(0, 40))}. Supported: pcm, wav, mp3, aac, opus.`,
    {
      param: 'payload.parameters.format',
    },
  );

/** Converts bytes, in pieces of any size, to samples of one channel. */
function createPcmConverter({ sampleRate, channels }: PcmFormat) {
  const resampler = createResampler({ from: sampleRate, to: SPEECH_SAMPLE_RATE });
  const frameBytes = SAMPLE_BYTES * channels;
  let rest: Uint8Array = new Uint8Array(0);
  return {
    push(bytes: Uint8Array): Float32Array {
      const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      const wholeBytes = all.length - (all.length % frameBytes);
      rest = all.slice(wholeBytes);
      const view = new DataView(all.buffer, all.byteOffset, wholeBytes);
      const mono = new Float32Array(wholeBytes / frameBytes);
      for (let at = 0; at < mono.length; at += 1) {
        let sum = 0;
        for (let channel = 0; channel < channels; channel += 1)
          sum += view.getInt16(at * frameBytes + channel * SAMPLE_BYTES, true);
        mono[at] = sum / (channels * 32_768);
      }
      return resampler.push(mono);
    },
    finish: () => resampler.end(),
  };
}
