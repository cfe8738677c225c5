import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  measureSignalToError,
  decodeChannels,
  createTestInput,
  decodeTestAudio,
  readTestRecording,
  decodeReference,
  summarizeEnd,
} from './__fixtures__/test-recordings.ts';
import { decodeAdts } from './aac/decode-adts.ts';
import { decodeMp3 } from './mp3/decode-mp3.ts';
import { decodeOgg } from './ogg/decode-ogg.ts';
import type { FormatDecoder } from './format-decoder.ts';

const SUMMARIES: Readonly<Record<string, string>> = {
  'speech.flac': 'flac flac 16000/1',
  'two-channels.flac': 'flac flac 32000/2',
  'u8.wav': 'wav pcm_u8 8000/1',
  's24.wav': 'wav pcm_s24le 16000/1',
  's32.wav': 'wav pcm_s32le 16000/1',
  'f32.wav': 'wav pcm_f32le 16000/1',
  'alaw.wav': 'wav pcm_alaw 8000/1',
  'mulaw.wav': 'wav pcm_mulaw 8000/1',
  'speech.mp3': 'mp3 mp3 16000/1',
  'beats.mp3': 'mp3 mp3 32000/2',
  'vorbis.ogg': 'ogg vorbis 16000/1',
  'beats.ogg': 'ogg vorbis 32000/2',
  'speech.opus': 'ogg opus 16000/1',
  'speech.aac': 'aac aac 16000/1',
  'beats.aac': 'aac aac 32000/2',
  'noise.aac': 'aac aac 16000/1',
  'index-last.m4a': 'mp4 aac 16000/1',
  'index-first.m4a': 'mp4 aac 16000/1',
  'fragments.mp4': 'mp4 aac 16000/1',
  'film.mp4': 'mp4 aac 16000/1',
};

/** Minimum similarity with the original recording, in dB, without the delay of the encoder. */
const SPEECH_DECIBELS_MIN: Readonly<Record<string, number>> = {
  'alaw.wav': 20,
  'mulaw.wav': 20,
  'u8.wav': 15,
  's24.wav': 80,
  's32.wav': 80,
  'f32.wav': 80,
  'speech.mp3': 8,
  'vorbis.ogg': 8,
  'speech.opus': 5,
  'index-last.m4a': 8,
};

const REFERENCE_DECODED: readonly (readonly [name: string, decode: FormatDecoder])[] = [
  ['speech.mp3', decodeMp3],
  ['beats.mp3', decodeMp3],
  ['vorbis.ogg', decodeOgg],
  ['beats.ogg', decodeOgg],
  ['speech.aac', decodeAdts],
  ['beats.aac', decodeAdts],
];

describe('readAudio', () => {
  for (const [name, kind] of Object.entries(SUMMARIES)) {
    test(`detects ${name} by its bytes, and decodes it to its end`, async () => {
      const { end, samples } = await decodeTestAudio(createTestInput(readTestRecording(name)));
      assert.equal(summarizeEnd(end), kind);
      assert.ok(
        end.type === 'end' && !end.report.isTruncated && end.report.damagedPartCount === 0,
        JSON.stringify(end),
      );
      assert.equal(end.report.samples, samples.length);
      assert.ok(samples.every((sample) => Number.isFinite(sample) && Math.abs(sample) < 2));
    });

    test(`decodes ${name} in pieces of any size`, async () => {
      const bytes = readTestRecording(name);
      const { samples } = await decodeTestAudio(createTestInput(bytes));
      for (const sizes of [[1], [7, 1, 4_096, 3], [511, 1_024, 2]]) {
        const other = await decodeTestAudio(createTestInput(bytes, sizes));
        assert.deepEqual(other.samples, samples);
      }
    });
  }

  for (const [name, decode] of REFERENCE_DECODED) {
    test(`decodes ${name} like ffmpeg, to 60 dB`, async () => {
      const [found, expected] = [await decodeChannels(decode, readTestRecording(name)), await decodeReference(name)];
      assert.equal(found.length, expected.length);
      for (const [channel, samples] of found.entries()) {
        // ffmpeg keeps the samples after the end of an Ogg file.
        const isOgg = name.endsWith('.ogg');
        assert.ok(isOgg || samples.length === expected[channel]?.length);
        assert.ok(
          measureSignalToError(samples, expected[channel]) > 60,
          `${measureSignalToError(samples, expected[channel])} dB`,
        );
      }
    });
  }

  test('returns the original recording without delay', async () => {
    const { samples: speech } = await decodeTestAudio(createTestInput(readTestRecording('speech.flac')));
    for (const [name, decibels] of Object.entries(SPEECH_DECIBELS_MIN)) {
      const { samples } = await decodeTestAudio(createTestInput(readTestRecording(name)));
      assert.ok(
        measureSignalToError(samples, speech) > decibels,
        `${name}: ${measureSignalToError(samples, speech)} dB`,
      );
    }
  });

  test('fills PNS bands to their energy', async () => {
    const energy = (samples: Float32Array | undefined) =>
      samples?.reduce((sum, sample) => sum + sample * sample, 0) ?? 0;
    const [[found], [expected]] = [
      await decodeChannels(decodeAdts, readTestRecording('noise.aac')),
      await decodeReference('noise.aac'),
    ];
    const ratio = energy(found) / energy(expected);
    assert.ok(ratio > 0.98 && ratio < 1.02, `${ratio}`);
  });

  test('decodes MP4 files with the index anywhere, and with a video track', async () => {
    const { samples } = await decodeTestAudio(createTestInput(readTestRecording('index-last.m4a')));
    assert.equal(samples.length, 9_920);
    for (const name of ['index-first.m4a', 'film.mp4'])
      assert.deepEqual((await decodeTestAudio(createTestInput(readTestRecording(name)))).samples, samples);
    const { samples: pieces } = await decodeTestAudio(createTestInput(readTestRecording('fragments.mp4')));
    // Without an edit list, the samples that the encoder added at the start remain.
    assert.deepEqual(pieces.subarray(1_024, 10_000), samples.subarray(0, 10_000 - 1_024));
  });

  test('rejects a streamed MP4 file whose index is at its end', async () => {
    const { end } = await decodeTestAudio(createTestInput(readTestRecording('index-last.m4a'), [100], false));
    assert.equal(
      summarizeEnd(end),
      'unsupported: The audio cannot be streamed because its index is at the end of the file.',
    );
    const { end: first } = await decodeTestAudio(createTestInput(readTestRecording('index-first.m4a'), [100], false));
    assert.equal(first.type, 'end');
  });

  test('skips tags at the start', async () => {
    const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x02\0', 'latin1'), Buffer.alloc(256, 0xff)]);
    for (const name of ['speech.mp3', 'speech.aac', 'speech.flac']) {
      const { samples } = await decodeTestAudio(createTestInput(Buffer.concat([tag, readTestRecording(name)])));
      assert.deepEqual(samples, (await decodeTestAudio(createTestInput(readTestRecording(name)))).samples);
    }
  });
});
