import assert from 'node:assert/strict';
import { type AttackerResponse, uploadAsAttacker } from '../../../../../test/attack/attacker-request.ts';
import { type AttackTarget, describeAttacks } from '../../../../../test/attack/harness.ts';
import { createTestWavHeader } from '../../audio/__fixtures__/test-wav-file.ts';
import { createTestWav } from '../../transcription/__fixtures__/test-wav.ts';

// Recordings that are small on the wire and long, or wrong. Each one is decoded in a process of its own.

/** Time in which a recording of another workspace must be transcribed, in ms. The machine may be busy. */
const OTHERS_RECORDING_MS_MAX = 20_000;

const BLOCK_SAMPLES = 65_535;

/** Computes a checksum of FLAC, most significant bit first. */
function computeCrc(bytes: Uint8Array, { bits, polynomial }: { bits: number; polynomial: number }): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit += 1)
      crc = (crc & (1 << (bits - 1)) ? (crc << 1) ^ polynomial : crc << 1) & (2 ** bits - 1);
  }
  return crc;
}

/** Creates a frame of silence (RFC 9639), four seconds of it at 16 kHz in 16 bytes. */
function createSilentFrame(sampleRate?: number): Buffer {
  const rateBytes = sampleRate === undefined ? [] : [sampleRate >> 8, sampleRate & 0xff];
  const head = Buffer.from([0xff, 0xf8, sampleRate === undefined ? 0x70 : 0x7d, 0x08, 0, 0xff, 0xfe, ...rateBytes]);
  const headCrc = computeCrc(head, { bits: 8, polynomial: 0x07 });
  const body = Buffer.concat([head, Buffer.from([headCrc, 0, 0, 0])]);
  const frameCrc = computeCrc(body, { bits: 16, polynomial: 0x8005 });
  return Buffer.concat([body, Buffer.from([frameCrc >> 8, frameCrc & 0xff])]);
}

function createFlac(frames: readonly Buffer[]): Buffer {
  const info = Buffer.alloc(34);
  info.set([0xff, 0xff, 0xff, 0xff]);
  info.set([0x03, 0xe8, 0x00, 0xf0], 10);
  return Buffer.concat([Buffer.from('fLaC\x80\0\0\x22', 'latin1'), info, ...frames]);
}

/** Creates a recording with another sample rate in each frame. */
const createFlacOfManyRates = (frames: number): Buffer =>
  createFlac(Array.from({ length: frames }, (_, index) => createSilentFrame(4_001 + ((index * 37) % 60_000))));

const ELEVEN_HOURS = createFlac(
  Array<Buffer>(Math.floor((11 * 3_600 * 16_000) / BLOCK_SAMPLES)).fill(createSilentFrame()),
);

const transcribe = (target: AttackTarget, bytes: Uint8Array, key?: string): Promise<AttackerResponse> =>
  uploadAsAttacker(target, {
    path: '/compatible-mode/v1/audio/transcriptions',
    fields: { model: 'svc-asr' },
    fileName: 'a.wav',
    bytes,
    ...(key && { key }),
  });

describeAttacks('attacks with recordings', {}, [
  {
    name: 'recordings that lie about channels, rates and lengths',
    async run(target) {
      const bombs = [
        createFlacOfManyRates(1_000),
        createTestWavHeader(100, { channels: 32_767 }),
        createTestWavHeader(100, { sampleRate: 4_000_000_000 }),
        createTestWavHeader(100, { sampleRate: 0 }),
        createTestWavHeader(100),
        Buffer.concat([Buffer.from('OggS'), Buffer.alloc(1_000_000)]),
      ];
      const responses = await Promise.all(bombs.map((bytes) => transcribe(target, bytes)));
      assert.deepEqual(
        responses.map(({ status }) => status),
        bombs.map(() => 400),
        responses.map(({ text }) => text).join('\n'),
      );
    },
  },
  {
    name: '12 recordings of 11 hours in 160 KiB each, before a recording of another workspace',
    async run(target) {
      const otherKey = await target.createKey('--workspace', 'listener');
      let ended = 0;
      const long = Array.from({ length: 12 }, async () => {
        await transcribe(target, ELEVEN_HOURS).catch(() => undefined);
        ended += 1;
      });
      const startedAt = performance.now();
      const other = await transcribe(target, createTestWav([500, 0], [1_000, 20]), otherKey);
      assert.deepEqual([other.status, other.text.includes('w20'), ended], [200, true, 0], other.text);
      assert.ok(performance.now() - startedAt < OTHERS_RECORDING_MS_MAX);
      void long;
    },
  },
]);
