import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { inputOf, read, recording, summary } from './__fixtures__/recordings.ts';
import { wavFile, type WavFacts } from './__fixtures__/wav-file.ts';

const wav = ({ samples, ...facts }: WavFacts & { readonly samples: Int16Array }): Buffer =>
  wavFile(new Uint8Array(samples.buffer), facts);

const constant = (values: readonly number[], turns: number): Int16Array =>
  Int16Array.from({ length: values.length * turns }, (_, n) => values[n % values.length] ?? 0);

const failure = async (bytes: Uint8Array): Promise<string> => summary((await read(inputOf(bytes))).end);

describe('reading a recording', () => {
  test('mixes all channels, or takes the one that is asked for', async () => {
    const bytes = wav({ channels: 2, sampleRate: 16_000, samples: constant([8_192, -16_384], 2_000) });
    assert.equal((await read(inputOf(bytes))).samples[1_000], -0.125);
    assert.equal((await read(inputOf(bytes), { channel: 1 })).samples[1_000], -0.5);
    const { end } = await read(inputOf(bytes), { channel: 2 });
    assert.equal(summary(end), 'unsupported: The audio has 2 channels, and none of number 2.');
  });

  test('hands on blocks of the length that is wished for', async () => {
    const lengths: number[] = [];
    const bytes = wav({ channels: 1, sampleRate: 16_000, samples: constant([1], 2_500) });
    await read(inputOf(bytes), { blockSamples: 1_000, emit: ({ length }) => void lengths.push(length) });
    assert.deepEqual(lengths, [1_000, 1_000, 500]);
  });

  test('tells how long it is, in time too', async () => {
    const { end } = await read(inputOf(wav({ channels: 1, sampleRate: 44_100, samples: constant([9], 44_100) })));
    assert.ok(end.type === 'end');
    assert.deepEqual([end.report.samples, end.report.durationMs, end.report.sampleRate], [16_000, 1_000, 44_100]);
  });

  test('goes on to the end where a wav file does not say how long it is', async () => {
    for (const statedBytes of [0, 0xffff_ffff]) {
      const { end } = await read(
        inputOf(wav({ channels: 1, sampleRate: 16_000, samples: constant([1], 500), statedBytes })),
      );
      assert.ok(end.type === 'end' && end.report.samples === 500 && !end.report.isCutOff);
    }
  });

  test('that lasts longer than may be has failed', async () => {
    const { end } = await read(inputOf(recording('speech.mp3')), { secondsMax: 0.5 });
    assert.equal(summary(end), 'too-long: The audio is longer than 0.5 seconds, which is the most that is read.');
  });
});

describe('a recording that breaks off', () => {
  for (const name of [
    'speech.flac',
    's24.wav',
    'speech.mp3',
    'vorbis.ogg',
    'speech.opus',
    'speech.aac',
    'index-first.m4a',
    'fragments.mp4',
  ]) {
    test(`gives what stands before, and says so: ${name}`, async () => {
      const bytes = recording(name);
      const whole = await read(inputOf(bytes));
      const { end, samples } = await read(inputOf(bytes.subarray(0, Math.floor(bytes.length * 0.8) + 1)));
      assert.ok(end.type === 'end' && end.report.isCutOff, JSON.stringify(end));
      assert.ok(samples.length > whole.samples.length / 8 && samples.length < whole.samples.length);
      const common = Math.max(0, samples.length - 1_000);
      assert.deepEqual(samples.subarray(0, common), whole.samples.subarray(0, common));
    });
  }

  test('before its sound begins has failed', async () => {
    for (const bytes of [13, 30, 60])
      assert.match(await failure(recording('s24.wav').subarray(0, bytes)), /^damaged: /);
    for (const bytes of [6, 30, 60, 200])
      assert.match(await failure(recording('speech.flac').subarray(0, bytes)), /^damaged: /);
    assert.match(await failure(recording('index-last.m4a').subarray(0, 3_000)), /^damaged: .* has no (whole )?index/);
  });
});

describe('what is no recording', () => {
  test('says what it is', async () => {
    assert.equal(await failure(Buffer.alloc(0)), 'empty: The audio is empty.');
    assert.equal(
      await failure(Buffer.from('%PDF-1.7 and so on')),
      'unsupported: The audio is a PDF, which is not read.',
    );
    assert.equal(
      await failure(Buffer.from('<html>Not found</html>')),
      'unsupported: The audio is of a kind that is not known, or no recording.',
    );
    assert.match(await failure(Buffer.alloc(100_000)), /no recording/);
  });

  test('names the format that is not read', async () => {
    const adpcm = wav({ channels: 1, sampleRate: 8_000, samples: constant([1], 100), format: 17 });
    assert.match(await failure(adpcm), /ADPCM \(IMA\) with 16 bits, which is not read/);
    const alac = Buffer.from(recording('index-first.m4a').toString('latin1').replace('mp4a', 'alac'), 'latin1');
    assert.equal(await failure(alac), 'unsupported: The audio is ALAC (Apple Lossless), which is not read.');
    const speex = Buffer.from(recording('speech.opus'));
    assert.match(await failure(Buffer.concat([Buffer.from('#!AMR\n'), speex])), /is AMR, which is not read/);
  });

  test('has no rate and no number of channels that nobody records', async () => {
    const samples = constant([1], 100);
    assert.match(
      await failure(wav({ channels: 1, sampleRate: 1, samples })),
      /unsupported: .* a sampling rate of 1 Hz/,
    );
    assert.match(await failure(wav({ channels: 1, sampleRate: 4e9, samples })), /a sampling rate of/);
    assert.match(await failure(wav({ channels: 33, sampleRate: 8_000, samples })), /33 channels, of 1 to 32/);
    assert.match(await failure(wav({ channels: 0, sampleRate: 8_000, samples })), /0 channels/);
  });
});
