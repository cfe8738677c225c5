import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI, { BadRequestError, NotFoundError, toFile } from 'openai';
import { wav } from '../../src/transcription/__fixtures__/wav.ts';
import { type Parley, startParley } from './harness.ts';
import { describePythonCases } from './python-cases.ts';

const MODEL = 'svc-asr';
const SPOKEN = wav([500, 0], [1_000, 20], [300, 60], [1_500, 0], [700, 21]);

describe('the openai client for Node has speech transcribed', () => {
  let parley: Parley;
  let client: OpenAI;
  const spoken = (): Promise<File> => toFile(SPOKEN, 'spoken.wav');
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.key, maxRetries: 0, timeout: 60_000 });
  });
  after(() => parley?.stop());

  test('as text', async () => {
    const said = await client.audio.transcriptions.create({ model: MODEL, file: await spoken() });
    assert.equal(said.text, 'w20 w60. w21');
    assert.deepEqual(said.usage, { type: 'duration', seconds: 4 });
    const text = await client.audio.transcriptions.create({
      model: MODEL,
      file: await spoken(),
      response_format: 'text',
    });
    assert.equal(String(text).trim(), 'w20 w60. w21');
  });

  test('with all that is known of it', async () => {
    const said = await client.audio.transcriptions.create({
      model: MODEL,
      file: await spoken(),
      response_format: 'verbose_json',
      language: 'en',
      prompt: 'Of words and numbers.',
      timestamp_granularities: ['word', 'segment'],
    });
    assert.deepEqual([said.language, said.duration, said.text], ['english', 4, 'w20 w60. w21']);
    assert.deepEqual(said.words, [
      { word: 'w20', start: 0.5, end: 1.5 },
      { word: 'w60', start: 1.5, end: 1.8 },
      { word: 'w21', start: 3.3, end: 4 },
    ]);
    assert.deepEqual(
      said.segments?.map(({ id, start, end, text }) => [id, start, end, text]),
      [
        [0, 0.5, 1.8, 'w20 w60.'],
        [1, 3.3, 4, 'w21'],
      ],
    );
  });

  test('as subtitles', async () => {
    const of = async (response_format: 'srt' | 'vtt') =>
      String(await client.audio.transcriptions.create({ model: MODEL, file: await spoken(), response_format }));
    assert.match(await of('srt'), /^1\n00:00:00,500 --> 00:00:01,800\nw20 w60\.\n\n2\n/);
    assert.match(await of('vtt'), /^WEBVTT\n\n00:00:00\.500 --> 00:00:01\.800\nw20 w60\.\n\n/);
  });

  test('and hears what is wrong, by its class and field', async () => {
    const noAudio = client.audio.transcriptions.create({
      model: MODEL,
      file: await toFile(Buffer.from('no audio'), 'a.wav'),
    });
    await assert.rejects(noAudio, (error) => error instanceof BadRequestError && error.param === 'file');
    const noModel = client.audio.transcriptions.create({ model: 'nobody', file: await spoken() });
    await assert.rejects(noModel, NotFoundError);
  });
});

describePythonCases('the openai client for Python has speech transcribed', {
  client: 'openai',
  script: 'openai_transcriptions_cases.py',
  models: [],
  parleys: { '': { engine: 'scripted' } },
  cases: ['as text', 'with all that is known of it', 'as subtitles', 'and hears what is wrong, by its class and field'],
});
