import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { openPcmStream } from './pcm-stream.ts';

/** A tone in samples of 16 bits. */
function tone({
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

interface Form {
  readonly rate: number;
  readonly channels?: number;
  readonly bits?: number;
  readonly tag?: number;
}

/** With a remark of odd length before its samples. */
function wav(data: Uint8Array, { rate, channels = 1, bits = 16, tag = 1 }: Form): Buffer {
  const form = Buffer.alloc(16);
  form.writeUInt16LE(tag, 0);
  form.writeUInt16LE(channels, 2);
  form.writeUInt32LE(rate, 4);
  form.writeUInt16LE(bits, 14);
  const chunk = (name: string, body: Uint8Array): Buffer => {
    const head = Buffer.alloc(8);
    head.write(name, 'latin1');
    head.writeUInt32LE(body.length, 4);
    return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
  };
  const chunks = Buffer.concat([chunk('LIST', Buffer.from('odd')), chunk('fmt ', form), chunk('data', data)]);
  return Buffer.concat([Buffer.from('RIFF\xff\xff\xff\xffWAVE', 'latin1'), chunks]);
}

async function read(format: string, sampleRate: number, bytes: Uint8Array, sizes: readonly number[] = []) {
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
  throw new Error('it did not end');
}

/** How loud a tone is in samples of 16 kHz, from 0 to 1. */
function loudness(samples: readonly number[], hertz: number): number {
  let [real, imaginary] = [0, 0];
  const inner = samples.slice(400, -400);
  for (const [at, sample] of inner.entries()) {
    const angle = (2 * Math.PI * hertz * at) / 16_000;
    real += sample * Math.cos(angle);
    imaginary += sample * Math.sin(angle);
  }
  return (2 * Math.hypot(real, imaginary)) / inner.length;
}

test('samples of 16 kHz come as they are', async () => {
  const samples = Buffer.alloc(8);
  for (const [at, value] of [0, 16_384, -32_768, 32_767].entries()) samples.writeInt16LE(value, at * 2);
  assert.deepEqual(await read('pcm', 16_000, samples), [0, 0.5, -1, Math.fround(32_767 / 32_768)]);
});

for (const rate of [8_000, 11_025, 22_050, 24_000, 44_100, 48_000]) {
  test(`${rate} samples a second become 16000: as long, as loud, and nothing else in them`, async () => {
    const samples = await read('pcm', rate, tone({ hertz: 1_000, rate, ms: 500 }));
    assert.ok(Math.abs(samples.length - 8_000) <= 1, String(samples.length));
    assert.ok(Math.abs(loudness(samples, 1_000) - 0.5) < 0.01, String(loudness(samples, 1_000)));
    assert.ok(loudness(samples, 3_137) < 0.005);
  });
}

test('what is too high for 16 kHz is gone, and not heard as something lower', async () => {
  const samples = await read('pcm', 48_000, tone({ hertz: 12_000, rate: 48_000, ms: 500 }));
  assert.ok(loudness(samples, 4_000) < 0.005, String(loudness(samples, 4_000)));
});

test('a WAV file knows its rate better than its sender, and its channels are one', async () => {
  const data = tone({ hertz: 1_000, rate: 48_000, ms: 300, channels: 2 });
  const samples = await read('wav', 16_000, wav(data, { rate: 48_000, channels: 2 }));
  assert.equal(samples.length, 4_800);
  assert.ok(Math.abs(loudness(samples, 1_000) - 0.5) < 0.01);
});

test('however it is cut, the samples are the same', async () => {
  const file = wav(tone({ hertz: 700, rate: 44_100, ms: 80 }), { rate: 44_100 });
  const whole = await read('wav', 16_000, file);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 6 }), async (sizes) => {
      assert.deepEqual(await read('wav', 16_000, file, sizes), whole);
    }),
    { numRuns: 25 },
  );
});

const DATA = Buffer.alloc(100);
const BROKEN: readonly (readonly [file: Buffer, says: RegExp])[] = [
  [Buffer.from('ID3 something else than that'), /does not begin as one/],
  [wav(DATA, { rate: 16_000, bits: 8 }), /integers of 16 bits/],
  [wav(DATA, { rate: 16_000, tag: 3 }), /integers of 16 bits/],
  [wav(DATA, { rate: 96_000 }), /8000 to 48000 samples a second, and has 96000/],
  [wav(DATA, { rate: 16_000, channels: 0 }), /1 to 8 channels, and has 0/],
  [wav(DATA, { rate: 16_000 }).subarray(0, 30), /it has no samples/],
];

for (const [file, says] of BROKEN) {
  test(`refuses what is no such WAV file: ${String(says)}`, async () => {
    await assert.rejects(read('wav', 16_000, file, [7]), says);
  });
}

test('a head without an end is refused, and not kept', async () => {
  const endless = Buffer.concat([
    Buffer.from('RIFF\0\0\0\0WAVELIST\xff\xff\xff\x0f', 'latin1'),
    Buffer.alloc(65 * 1024),
  ]);
  await assert.rejects(read('wav', 16_000, endless, [4_096]), /samples do not begin/);
});

test('what is neither is refused by its name', () => {
  assert.throws(() => openPcmStream({ format: 'mp3', sampleRate: 16_000 }), { kind: 'unsupported', message: /"mp3"/ });
});
