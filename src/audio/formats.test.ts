import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { closeness, channelsOf, inputOf, read, recording, referenceOf, summary } from './__fixtures__/recordings.ts';
import { decodeAdts } from './aac/adts.ts';
import { decodeMp3 } from './mp3/decode-mp3.ts';
import { decodeOgg } from './ogg/decode-ogg.ts';
import type { DecodeSound } from './recording.ts';

const KINDS: Readonly<Record<string, string>> = {
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

/** Within 50 ms of the sound that they were made of: an encoder's delay is not in it. */
const CLOSE_TO_SPEECH: Readonly<Record<string, number>> = {
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

const AGAINST_ANOTHER: readonly (readonly [name: string, decode: DecodeSound])[] = [
  ['speech.mp3', decodeMp3],
  ['beats.mp3', decodeMp3],
  ['vorbis.ogg', decodeOgg],
  ['beats.ogg', decodeOgg],
  ['speech.aac', decodeAdts],
  ['beats.aac', decodeAdts],
];

describe('a recording', () => {
  for (const [name, kind] of Object.entries(KINDS)) {
    test(`${name} is known by its bytes and decoded to its end`, async () => {
      const { end, samples } = await read(inputOf(recording(name)));
      assert.equal(summary(end), kind);
      assert.ok(end.type === 'end' && !end.report.isCutOff && end.report.damagedPlaces === 0, JSON.stringify(end));
      assert.equal(end.report.samples, samples.length);
      assert.ok(samples.every((sample) => Number.isFinite(sample) && Math.abs(sample) < 2));
    });

    test(`${name} gives the same samples in whatever pieces it comes`, async () => {
      const bytes = recording(name);
      const { samples } = await read(inputOf(bytes));
      for (const sizes of [[1], [7, 1, 4_096, 3], [511, 1_024, 2]]) {
        const other = await read(inputOf(bytes, sizes));
        assert.deepEqual(other.samples, samples);
      }
    });
  }

  for (const [name, decode] of AGAINST_ANOTHER) {
    test(`${name} is decoded as another decoder does, to 60 dB`, async () => {
      const [found, expected] = [await channelsOf(decode, recording(name)), await referenceOf(name)];
      assert.equal(found.length, expected.length);
      for (const [channel, samples] of found.entries()) {
        // It does not leave away what stands behind the end of an Ogg file.
        const isOgg = name.endsWith('.ogg');
        assert.ok(isOgg || samples.length === expected[channel]?.length);
        assert.ok(closeness(samples, expected[channel]) > 60, `${closeness(samples, expected[channel])} dB`);
      }
    });
  }

  test('has the sound that it was made of, at its place', async () => {
    const { samples: speech } = await read(inputOf(recording('speech.flac')));
    for (const [name, decibels] of Object.entries(CLOSE_TO_SPEECH)) {
      const { samples } = await read(inputOf(recording(name)));
      assert.ok(closeness(samples, speech) > decibels, `${name}: ${closeness(samples, speech)} dB`);
    }
  });

  test('of bands that are told by their energy alone has that energy', async () => {
    const energy = (samples: Float32Array | undefined) =>
      samples?.reduce((sum, sample) => sum + sample * sample, 0) ?? 0;
    const [[found], [expected]] = [
      await channelsOf(decodeAdts, recording('noise.aac')),
      await referenceOf('noise.aac'),
    ];
    const ratio = energy(found) / energy(expected);
    assert.ok(ratio > 0.98 && ratio < 1.02, `${ratio}`);
  });

  test('in an MP4 file is the same wherever its index stands, and beside a film', async () => {
    const { samples } = await read(inputOf(recording('index-last.m4a')));
    assert.equal(samples.length, 9_920);
    for (const name of ['index-first.m4a', 'film.mp4'])
      assert.deepEqual((await read(inputOf(recording(name)))).samples, samples);
    const { samples: pieces } = await read(inputOf(recording('fragments.mp4')));
    // Where nothing says where the sound begins, what the encoder put in front is there too.
    assert.deepEqual(pieces.subarray(1_024, 10_000), samples.subarray(0, 10_000 - 1_024));
  });

  test('whose index stands behind it is not read where there is no way back', async () => {
    const { end } = await read(inputOf(recording('index-last.m4a'), [100], false));
    assert.equal(summary(end), 'unsupported: The audio cannot be read in one go: its index stands behind it.');
    const { end: first } = await read(inputOf(recording('index-first.m4a'), [100], false));
    assert.equal(first.type, 'end');
  });

  test('with tags in front is read behind them', async () => {
    const tag = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\x02\0', 'latin1'), Buffer.alloc(256, 0xff)]);
    for (const name of ['speech.mp3', 'speech.aac', 'speech.flac']) {
      const { samples } = await read(inputOf(Buffer.concat([tag, recording(name)])));
      assert.deepEqual(samples, (await read(inputOf(recording(name)))).samples);
    }
  });
});
