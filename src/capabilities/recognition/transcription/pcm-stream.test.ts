import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../../test/property-runs.ts';
import { openPcmStream } from './pcm-stream.ts';

/** Creates a tone in 16-bit samples. */
function createTone({
  hertz,
  rate,
  ms,
  channels = 1,
}: {
  hertz: number;
  rate: number;
  ms: number;
  channels?: number;
}): Buffer {
  const frames = Math.round((rate * ms) / 1_000);
  const bytes = Buffer.alloc(frames * channels * 2);
  for (let at = 0; at < frames; at += 1)
    for (let channel = 0; channel < channels; channel += 1)
      bytes.writeInt16LE(
        Math.round(16_384 * Math.sin((2 * Math.PI * hertz * at) / rate)),
        (at * channels + channel) * 2,
      );
  return bytes;
}

interface TestWavFormat {
  readonly rate: number;
  readonly channels?: number;
  readonly bits?: number;
  readonly tag?: number;
}

/** Creates a WAV file with a chunk of odd length before its samples. */
function createWav(data: Uint8Array, { rate, channels = 1, bits = 16, tag = 1 }: TestWavFormat): Buffer {
  const formatChunk = Buffer.alloc(16);
  formatChunk.writeUInt16LE(tag, 0);
  formatChunk.writeUInt16LE(channels, 2);
  formatChunk.writeUInt32LE(rate, 4);
  formatChunk.writeUInt16LE(bits, 14);
  const chunk = (name: string, body: Uint8Array): Buffer => {
    const head = Buffer.alloc(8);
    head.write(name, 'latin1');
    head.writeUInt32LE(body.length, 4);
    return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
  };
  const chunks = Buffer.concat([chunk('LIST', Buffer.from('odd')), chunk('fmt ', formatChunk), chunk('data', data)]);
  return Buffer.concat([Buffer.from('RIFF\xff\xff\xff\xffWAVE', 'latin1'), chunks]);
}

async function convert(format: string, sampleRate: number, bytes: Uint8Array, sizes: readonly number[] = []) {
  const stream = openPcmStream({ format, sampleRate });
  for (let at = 0, piece = 0; at < bytes.length; piece += 1) {
    const size = sizes[piece % sizes.length] ?? bytes.length;
    await stream.push(bytes.subarray(at, at + size));
    at += size;
  }
  await stream.end();
  const out: number[] = [];
  for await (const event of stream.events) {
    if (event.type === 'failed') throw new Error(event.reason);
    if (event.type === 'end') return out;
    out.push(...event.samples);
  }
  throw new Error('the stream has no end event');
}

/** Measures the amplitude of a tone in samples of 16 kHz, from 0 to 1. */
function measureLoudness(samples: readonly number[], hertz: number): number {
  let [real, imaginary] = [0, 0];
  const inner = samples.slice(400, -400);
  for (const [at, sample] of inner.entries()) {
    const angle = (2 * Math.PI * hertz * at) / 16_000;
    real += sample * Math.cos(angle);
    imaginary += sample * Math.sin(angle);
  }
  return (2 * Math.hypot(real, imaginary)) / inner.length;
}

test('keeps samples of 16 kHz unchanged', async () => {
  const samples = Buffer.alloc(8);
  for (const [at, value] of [0, 16_384, -32_768, 32_767].entries()) samples.writeInt16LE(value, at * 2);
  assert.deepEqual(await convert('pcm', 16_000, samples), [0, 0.5, -1, Math.fround(32_767 / 32_768)]);
});

for (const rate of [8_000, 11_025, 22_050, 24_000, 44_100, 48_000]) {
  test(`converts ${rate} Hz to 16 kHz with the same duration and loudness`, async () => {
    const samples = await convert('pcm', rate, createTone({ hertz: 1_000, rate, ms: 500 }));
    assert.ok(Math.abs(samples.length - 8_000) <= 1, String(samples.length));
    assert.ok(Math.abs(measureLoudness(samples, 1_000) - 0.5) < 0.01, String(measureLoudness(samples, 1_000)));
    assert.ok(measureLoudness(samples, 3_137) < 0.005);
  });
}

test('removes frequencies above 8 kHz without aliasing', async () => {
  const samples = await convert('pcm', 48_000, createTone({ hertz: 12_000, rate: 48_000, ms: 500 }));
  assert.ok(measureLoudness(samples, 4_000) < 0.005, String(measureLoudness(samples, 4_000)));
});

test('takes the sample rate of the WAV header, and mixes its channels', async () => {
  const data = createTone({ hertz: 1_000, rate: 48_000, ms: 300, channels: 2 });
  const samples = await convert('wav', 16_000, createWav(data, { rate: 48_000, channels: 2 }));
  assert.equal(samples.length, 4_800);
  assert.ok(Math.abs(measureLoudness(samples, 1_000) - 0.5) < 0.01);
});

test('returns the same samples for pieces of any size', async () => {
  const file = createWav(createTone({ hertz: 700, rate: 44_100, ms: 80 }), { rate: 44_100 });
  const whole = await convert('wav', 16_000, file);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 6 }), async (sizes) => {
      assert.deepEqual(await convert('wav', 16_000, file, sizes), whole);
    }),
    { numRuns: scalePropertyRuns(25) },
  );
});

const DATA = Buffer.alloc(100);
const INVALID_FILES: readonly (readonly [file: Buffer, message: RegExp])[] = [
  [Buffer.from('ID3 something else than that'), /RIFF header is missing/],
  [createWav(DATA, { rate: 16_000, bits: 8 }), /only 16-bit integer samples/],
  [createWav(DATA, { rate: 16_000, tag: 3 }), /only 16-bit integer samples/],
  [createWav(DATA, { rate: 96_000 }), /sample rate must be 8000 to 48000 Hz, got 96000/],
  [createWav(DATA, { rate: 16_000, channels: 0 }), /channels must be 1 to 8, got 0/],
  [createWav(DATA, { rate: 16_000 }).subarray(0, 30), /it contains no samples/],
];

for (const [file, pattern] of INVALID_FILES) {
  test(`rejects an invalid WAV file: ${String(pattern)}`, async () => {
    await assert.rejects(convert('wav', 16_000, file, [7]), pattern);
  });
}

test('rejects an endless header', async () => {
  const endless = Buffer.concat([
    Buffer.from('RIFF\0\0\0\0WAVELIST\xff\xff\xff\x0f', 'latin1'),
    Buffer.alloc(65 * 1024),
  ]);
  await assert.rejects(convert('wav', 16_000, endless, [4_096]), /data chunk is missing/);
});

test('rejects other formats by name', () => {
  assert.throws(() => openPcmStream({ format: 'mp3', sampleRate: 16_000 }), { kind: 'unsupported', message: /"mp3"/ });
});
