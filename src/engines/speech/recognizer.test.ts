import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { RecognitionRequest } from '../speech-engine.ts';
import { writeFakeRuntime } from './__fixtures__/fake-runtime.ts';
import { createRecognizer, type Recognizer } from './recognizer.ts';
import { loadOnnxRuntime } from './onnx-runtime.ts';
import { openWhisperModel } from './whisper-model.ts';

const createTone = (loudness: number): Float32Array =>
  Float32Array.from({ length: 8_000 }, (_, i) => loudness * Math.sin((2 * Math.PI * 440 * i) / 16_000));

describe('Recognizer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-speech-'));
  const never = new AbortController().signal;
  let recognizer: Recognizer;
  before(async () => {
    const { runtimeFolder, weightsFolder } = writeFakeRuntime(folder);
    recognizer = createRecognizer(
      await openWhisperModel(loadOnnxRuntime(runtimeFolder), { weightsFolder, threads: 1 }),
      { beamWidth: 3 },
    );
  });
  after(() => rmSync(folder, { recursive: true }));

  const recognize = (fields: Partial<RecognitionRequest>, signal = never) =>
    recognizer.recognize(
      {
        id: 'r',
        owner: { workspace: 'w', key: 'k' },
        samples: createTone(0.5),
        languages: [],
        hotwords: [],
        includeWords: false,
        ...fields,
      },
      signal,
    );

  it('detects the likeliest of the candidate languages', async () => {
    assert.equal((await recognize({})).language, 'de');
    assert.equal((await recognize({ languages: ['zh', 'de'] })).language, 'de');
    assert.equal((await recognize({ languages: ['zh'] })).language, 'zh');
    await assert.rejects(recognize({ languages: ['de', 'xx'] }), { kind: 'invalid-request', message: /'xx'/ });
  });

  it('returns the same text with a context and unrelated hotwords', async () => {
    const hotwords = [
      { text: 'Qwen', weight: 5 },
      { text: 'loud', weight: 5, language: 'zh' },
    ];
    const plain = await recognize({});
    assert.equal(plain.text, 'It is loud.');
    const helped = await recognize({ hotwords, context: 'It was quiet.', includeWords: true });
    assert.equal(helped.text, 'It is loud.');
    assert.equal(helped.isBiasDropped, false);
    assert.deepEqual(
      helped.words.map(({ text }) => text),
      ['It ', 'is ', 'loud'],
    );
    assert.deepEqual(plain.words, []);
    assert.ok(plain.logProbability <= 0 && plain.logProbability > -0.1);
  });

  it('searches with several texts side by side, but not for live speech', async () => {
    const [file, live] = [await recognize({}), await recognize({ isLive: true })];
    assert.equal(file.text, live.text);
    // A greedy search generates each character and the end; a beam of three more at each place.
    assert.equal(live.tokens, 'It is loud.'.length + 2);
    assert.ok(file.tokens > 2 * live.tokens);
  });

  it('translates to English with the translation token', async () => {
    const { text, language } = await recognize({ task: 'translate', languages: ['de'] });
    assert.deepEqual([text, language], ['Translated: loud.', 'en']);
    assert.deepEqual((await recognize({ task: 'transcribe', languages: ['de'] })).language, 'de');
    assert.equal(recognizer.model.translates, true);
  });

  it('refuses a translation by a model without the translation token', async () => {
    const { runtimeFolder, weightsFolder } = writeFakeRuntime(join(folder, 'no-translation'));
    const file = join(weightsFolder, 'tokenizer.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('<|translate|>', '<|other|>'));
    const whisper = await openWhisperModel(loadOnnxRuntime(runtimeFolder), { weightsFolder, threads: 1 });
    const { model, recognize: run } = createRecognizer(whisper, { beamWidth: 1 });
    assert.equal(model.translates, false);
    const request = { id: 'r', owner: { workspace: 'w', key: 'k' }, samples: createTone(0.5), languages: [] };
    const translation = { ...request, hotwords: [], includeWords: false, task: 'translate' } as const;
    await assert.rejects(run(translation, never), { kind: 'invalid-request', param: 'model' });
  });

  it('rolls back a hotword that only seemed to start', async () => {
    const { text, tokens, isBiasDropped } = await recognize({ hotwords: [{ text: 'Loads', weight: 5 }] });
    assert.equal(text, 'It is loud.');
    assert.equal(isBiasDropped, false);
    assert.ok(tokens > (await recognize({})).tokens, 'the hotword was tried');
  });

  it('returns an empty text for silence', async () => {
    const recognition = await recognize({ samples: createTone(0.0002), languages: ['zh'] });
    assert.deepEqual(recognition, {
      text: '',
      language: 'zh',
      words: [],
      noSpeech: 1,
      logProbability: 0,
      tokens: 0,
      isBiasDropped: false,
    });
  });

  it('stops after an abort', async () => {
    const gone = new AbortController();
    const recognizing = recognize({}, gone.signal);
    setImmediate(() => gone.abort(new Error('gone')));
    await assert.rejects(recognizing, /gone/);
  });
});
