import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI, { BadRequestError, NotFoundError, toFile } from 'openai';
import { createTestWav } from '../../transcription/__fixtures__/test-wav.ts';
import { type Parley, startParley } from '../../../../../test/clients/harness.ts';
import { describePythonCases } from '../../../../../test/clients/python-cases.ts';

const MODEL = 'svc-asr';
const SPOKEN = createTestWav([500, 0], [1_000, 20], [300, 60], [1_500, 0], [700, 21]);

describe('transcriptions with the openai client for Node', () => {
  let parley: Parley;
  let client: OpenAI;
  const createUpload = (): Promise<File> => toFile(SPOKEN, 'spoken.wav');
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.key, maxRetries: 0, timeout: 60_000 });
  });
  after(() => parley?.stop());

  test('are returned as text', async () => {
    const transcription = await client.audio.transcriptions.create({ model: MODEL, file: await createUpload() });
    assert.equal(transcription.text, 'w20 w60. w21');
    assert.deepEqual(transcription.usage, { type: 'duration', seconds: 4 });
    const text = await client.audio.transcriptions.create({
      model: MODEL,
      file: await createUpload(),
      response_format: 'text',
    });
    assert.equal(String(text).trim(), 'w20 w60. w21');
  });

  test('are returned with language, words and segments', async () => {
    const transcription = await client.audio.transcriptions.create({
      model: MODEL,
      file: await createUpload(),
      response_format: 'verbose_json',
      language: 'en',
      prompt: 'Of words and numbers.',
      timestamp_granularities: ['word', 'segment'],
    });
    assert.deepEqual(
      [transcription.language, transcription.duration, transcription.text],
      ['english', 4, 'w20 w60. w21'],
    );
    assert.deepEqual(transcription.words, [
      { word: 'w20', start: 0.5, end: 1.5 },
      { word: 'w60', start: 1.5, end: 1.8 },
      { word: 'w21', start: 3.3, end: 4 },
    ]);
    assert.deepEqual(
      transcription.segments?.map(({ id, start, end, text }) => [id, start, end, text]),
      [
        [0, 0.5, 1.8, 'w20 w60.'],
        [1, 3.3, 4, 'w21'],
      ],
    );
  });

  test('are returned as subtitles', async () => {
    const createSubtitles = async (response_format: 'srt' | 'vtt') =>
      String(await client.audio.transcriptions.create({ model: MODEL, file: await createUpload(), response_format }));
    assert.match(await createSubtitles('srt'), /^1\n00:00:00,500 --> 00:00:01,800\nw20 w60\.\n\n2\n/);
    assert.match(await createSubtitles('vtt'), /^WEBVTT\n\n00:00:00\.500 --> 00:00:01\.800\nw20 w60\.\n\n/);
  });

  test('are streamed, with the whole text at the end', async () => {
    const file = await createUpload();
    const stream = await client.audio.transcriptions.create({ model: MODEL, file, stream: true });
    const events: unknown[] = [];
    for await (const event of stream) events.push(event);
    assert.deepEqual(events, [
      { type: 'transcript.text.delta', delta: 'w20 w60.' },
      { type: 'transcript.text.delta', delta: ' w21' },
      { type: 'transcript.text.done', text: 'w20 w60. w21', usage: { type: 'duration', seconds: 4 } },
    ]);
  });

  test('are refused before the stream with an error class and the field', async () => {
    const file = await toFile(Buffer.from('no audio'), 'a.wav');
    const noAudio = client.audio.transcriptions.create({ model: MODEL, file, stream: true });
    await assert.rejects(noAudio, (error) => error instanceof BadRequestError && error.param === 'file');
  });

  test('are translated to English', async () => {
    const { text } = await client.audio.translations.create({ model: MODEL, file: await createUpload() });
    assert.equal(text, 't20 t60. t21');
    const request = { model: MODEL, file: await createUpload(), response_format: 'verbose_json' } as const;
    // The client's first overload hides the type of this format.
    const verbose = (await client.audio.translations.create(request)) as unknown as OpenAI.Audio.TranslationVerbose;
    assert.deepEqual(
      [verbose.language, verbose.duration, verbose.segments?.map(({ text: segment }) => segment)],
      ['english', 4, ['t20 t60.', 't21']],
    );
  });

  test('are refused with an error class and the field', async () => {
    const noAudio = client.audio.transcriptions.create({
      model: MODEL,
      file: await toFile(Buffer.from('no audio'), 'a.wav'),
    });
    await assert.rejects(noAudio, (error) => error instanceof BadRequestError && error.param === 'file');
    const noModel = client.audio.transcriptions.create({ model: 'no-such-model', file: await createUpload() });
    await assert.rejects(noModel, NotFoundError);
  });
});

describePythonCases('transcriptions with the openai client for Python', {
  client: 'openai',
  script: new URL('python/openai_transcriptions_cases.py', import.meta.url),
  models: [],
  parleys: { '': { engine: 'scripted' } },
  cases: [
    'are returned as text',
    'are returned with language, words and segments',
    'are returned as subtitles',
    'are streamed, with the whole text at the end',
    'are translated to English',
    'are refused with an error class and the field',
  ],
});
