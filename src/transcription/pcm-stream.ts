import { ServiceError } from '../core/error.ts';
import { createBatchQueue } from '../lib/batch-queue.ts';
import { createResampler } from '../audio/resampler.ts';
import { SPEECH_SAMPLE_RATE } from '../core/speech.ts';
import { createWavHead } from './wav-head.ts';

type PcmEvent =
  | { readonly type: 'sound'; readonly samples: Float32Array }
  | { readonly type: 'end' }
  | { readonly type: 'failed'; readonly reason: string };

/** Uncompressed audio that comes in pieces, as samples of speech. It is so cheap that it needs no process of its own. */
export interface PcmStream {
  push(bytes: Uint8Array): Promise<void>;
  end(): Promise<void>;
  readonly events: AsyncIterable<PcmEvent>;
  close(): Promise<void>;
}

interface Form {
  readonly sampleRate: number;
  readonly channels: number;
}

const SAMPLE_BYTES = 2;

/**
 * Samples of 16 bits, little end first: bare, or with the head of a WAV file before them, which says its rate itself.
 *
 * @throws ServiceError `unsupported` for any other format.
 */
export function openPcmStream({
  format,
  sampleRate,
}: {
  readonly format: string;
  readonly sampleRate: number;
}): PcmStream {
  if (format !== 'pcm' && format !== 'wav') throw notRead(format);
  const queue = createBatchQueue<PcmEvent>({ waitingMax: Infinity });
  const head = createWavHead();
  let samples = format === 'pcm' ? createSamples({ sampleRate, channels: 1 }) : undefined;

  const tell = (event: PcmEvent): void => {
    if (event.type === 'sound' && event.samples.length === 0) return;
    queue.push(event);
    if (event.type !== 'sound') queue.end();
  };

  const read = (bytes: Uint8Array): Float32Array => {
    if (samples) return samples.push(bytes);
    const form = head.push(bytes);
    if (!form) return new Float32Array(0);
    samples = createSamples(form);
    return samples.push(form.rest);
  };

  /** What is no such audio is an event like others: the sound before it comes first. */
  const telling = (make: () => Float32Array): void => {
    try {
      tell({ type: 'sound', samples: make() });
    } catch (error) {
      tell({ type: 'failed', reason: ServiceError.from(error).message });
    }
  };

  return {
    push: async (bytes) => telling(() => read(bytes)),
    async end() {
      if (!samples) return tell({ type: 'failed', reason: 'The audio is no WAV file: it has no samples.' });
      const { finish } = samples;
      telling(() => finish());
      tell({ type: 'end' });
    },
    events: oneByOne(queue),
    close: async () => queue.end(),
  };
}

async function* oneByOne<Item>(batches: AsyncIterable<readonly Item[]>): AsyncGenerator<Item> {
  for await (const batch of batches) yield* batch;
}

const notRead = (format: string): ServiceError =>
  new ServiceError(
    'unsupported',
    `Audio of the format ${JSON.stringify(format.slice(0, 40))} is not read here; pcm, wav, mp3, aac and opus are.`,
    {
      param: 'payload.parameters.format',
    },
  );

/** Bytes as samples of one channel, however they are cut. */
function createSamples({ sampleRate, channels }: Form) {
  const resampler = createResampler({ from: sampleRate, to: SPEECH_SAMPLE_RATE });
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
    finish: () => resampler.end(),
  };
}
