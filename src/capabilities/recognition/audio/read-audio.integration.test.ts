import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTestInput, decodeTestAudio, readTestRecording, summarizeEnd } from './__fixtures__/test-recordings.ts';
import { createTestWavFile, type TestWavOptions } from './__fixtures__/test-wav-file.ts';

const createWav = ({ samples, ...options }: TestWavOptions & { readonly samples: Int16Array }): Buffer =>
  createTestWavFile(new Uint8Array(samples.buffer), options);

const repeatValues = (values: readonly number[], times: number): Int16Array =>
  Int16Array.from({ length: values.length * times }, (_, n) => values[n % values.length] ?? 0);

const summarizeFailure = async (bytes: Uint8Array): Promise<string> =>
  summarizeEnd((await decodeTestAudio(createTestInput(bytes))).end);

describe('readAudio', () => {
  test('mixes all channels, or selects one', async () => {
    const bytes = createWav({ channels: 2, sampleRate: 16_000, samples: repeatValues([8_192, -16_384], 2_000) });
    assert.equal((await decodeTestAudio(createTestInput(bytes))).samples[1_000], -0.125);
    assert.equal((await decodeTestAudio(createTestInput(bytes), { channel: 1 })).samples[1_000], -0.5);
    const { end } = await decodeTestAudio(createTestInput(bytes), { channel: 2 });
    assert.equal(summarizeEnd(end), 'unsupported: The audio has 2 channels; channel 2 does not exist.');
  });

  test('emits blocks of the requested length', async () => {
    const lengths: number[] = [];
    const bytes = createWav({ channels: 1, sampleRate: 16_000, samples: repeatValues([1], 2_500) });
    await decodeTestAudio(createTestInput(bytes), {
      blockSamples: 1_000,
      emit: ({ length }) => void lengths.push(length),
    });
    assert.deepEqual(lengths, [1_000, 1_000, 500]);
  });

  test('reports the number of samples and the duration', async () => {
    const { end } = await decodeTestAudio(
      createTestInput(createWav({ channels: 1, sampleRate: 44_100, samples: repeatValues([9], 44_100) })),
    );
    assert.ok(end.type === 'end');
    assert.deepEqual([end.report.samples, end.report.durationMs, end.report.sampleRate], [16_000, 1_000, 44_100]);
  });

  test('reads a WAV file of undeclared length to its end', async () => {
    for (const statedBytes of [0, 0xffff_ffff]) {
      const { end } = await decodeTestAudio(
        createTestInput(createWav({ channels: 1, sampleRate: 16_000, samples: repeatValues([1], 500), statedBytes })),
      );
      assert.ok(end.type === 'end' && end.report.samples === 500 && !end.report.isTruncated);
    }
  });

  test('rejects a recording above the maximum length', async () => {
    const { end } = await decodeTestAudio(createTestInput(readTestRecording('speech.mp3')), { secondsMax: 0.5 });
    assert.equal(summarizeEnd(end), 'too-long: The audio is longer than 0.5 seconds, the maximum length.');
  });
});

describe('readAudio with a truncated recording', () => {
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
    test(`decodes the part before the cut: ${name}`, async () => {
      const bytes = readTestRecording(name);
      const whole = await decodeTestAudio(createTestInput(bytes));
      const { end, samples } = await decodeTestAudio(
        createTestInput(bytes.subarray(0, Math.floor(bytes.length * 0.8) + 1)),
      );
      assert.ok(end.type === 'end' && end.report.isTruncated, JSON.stringify(end));
      assert.ok(samples.length > whole.samples.length / 8 && samples.length < whole.samples.length);
      const common = Math.max(0, samples.length - 1_000);
      assert.deepEqual(samples.subarray(0, common), whole.samples.subarray(0, common));
    });
  }

  test('rejects a recording without audio data', async () => {
    for (const bytes of [13, 30, 60])
      assert.match(await summarizeFailure(readTestRecording('s24.wav').subarray(0, bytes)), /^damaged: /);
    for (const bytes of [6, 30, 60, 200])
      assert.match(await summarizeFailure(readTestRecording('speech.flac').subarray(0, bytes)), /^damaged: /);
    assert.match(
      await summarizeFailure(readTestRecording('index-last.m4a').subarray(0, 3_000)),
      /^damaged: .* has (no|an incomplete) index/,
    );
  });
});

describe('readAudio with unsupported input', () => {
  test('names known file formats', async () => {
    assert.equal(await summarizeFailure(Buffer.alloc(0)), 'empty: The audio is empty.');
    assert.equal(
      await summarizeFailure(Buffer.from('%PDF-1.7 and so on')),
      'unsupported: The audio is a PDF, which is not supported.',
    );
    assert.equal(
      await summarizeFailure(Buffer.from('<html>Not found</html>')),
      'unsupported: The audio is not in a known audio format.',
    );
    assert.match(await summarizeFailure(Buffer.alloc(100_000)), /not in a known audio format/);
  });

  test('names the codec', async () => {
    const adpcm = createWav({ channels: 1, sampleRate: 8_000, samples: repeatValues([1], 100), format: 17 });
    assert.match(await summarizeFailure(adpcm), /ADPCM \(IMA\) with 16 bits, which is not supported/);
    const alac = Buffer.from(readTestRecording('index-first.m4a').toString('latin1').replace('mp4a', 'alac'), 'latin1');
    assert.equal(
      await summarizeFailure(alac),
      'unsupported: The audio is ALAC (Apple Lossless), which is not supported.',
    );
    const speex = Buffer.from(readTestRecording('speech.opus'));
    assert.match(
      await summarizeFailure(Buffer.concat([Buffer.from('#!AMR\n'), speex])),
      /is AMR, which is not supported/,
    );
  });

  test('rejects unusual sample rates and numbers of channels', async () => {
    const samples = repeatValues([1], 100);
    assert.match(
      await summarizeFailure(createWav({ channels: 1, sampleRate: 1, samples })),
      /unsupported: .* a sample rate of 1 Hz/,
    );
    assert.match(await summarizeFailure(createWav({ channels: 1, sampleRate: 4e9, samples })), /a sample rate of/);
    assert.match(
      await summarizeFailure(createWav({ channels: 33, sampleRate: 8_000, samples })),
      /33 channels; 1 to 32 are supported/,
    );
    assert.match(await summarizeFailure(createWav({ channels: 0, sampleRate: 8_000, samples })), /0 channels/);
  });
});
