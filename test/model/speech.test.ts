import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { RecognitionRequest, SpeechEngine } from '../../src/engines/speech-engine.ts';
import { createBytePairTokenizer } from '../../src/engines/speech/byte-pair-tokenizer.ts';
import { createSpeechEngine } from '../../src/engines/speech/speech-engine.ts';
import { createSpeechProcess } from '../../src/engines/speech/speech-process.ts';
import { getSpeechSkipReason, getRuntimeFolder, getSpeechWeightsFolder } from '../models-folder.ts';
import { readSpeechSamples } from './speech-samples.ts';

const WHISPER = 'whisper-base';
const never = new AbortController().signal;
const [fox, names, morning] = [readSpeechSamples('fox'), readSpeechSamples('names'), readSpeechSamples('morning')];

const createRequest = (samples: Float32Array, fields: Partial<RecognitionRequest> = {}): RecognitionRequest => ({
  id: 'r',
  owner: { workspace: 'w', key: 'k' },
  samples,
  languages: [],
  hotwords: [],
  includeWords: false,
  ...fields,
});

describe('recognition by whisper', { skip: getSpeechSkipReason('svc-asr') }, () => {
  let runFolder: string;
  let engine: SpeechEngine;
  before(async () => {
    runFolder = await mkdtemp(join(tmpdir(), 'parley-model-'));
    const weightsFolder = getSpeechWeightsFolder('svc-asr');
    const voiceFile = join(weightsFolder, 'silero-vad.onnx');
    const options = { name: WHISPER, runtimeFolder: getRuntimeFolder(), weightsFolder, voiceFile, runFolder };
    const process = await createSpeechProcess(
      {
        ...options,
        threads: 1,
        beamWidth: 5,
        queueLengthMax: 8,
        queueWaitMsMax: 60_000,
      },
      { info: () => undefined, warn: () => undefined },
    );
    engine = createSpeechEngine({ process });
  });
  after(async () => {
    await engine.close();
    await rm(runFolder, { recursive: true });
  });

  const recognizeFox = () => engine.recognize(createRequest(fox, { includeWords: true }), never);
  /** The result of the first test. */
  let firstFox: ReturnType<typeof recognizeFox> | undefined;

  it('recognizes the text, its language and the times of its words', async () => {
    const { languages, samplesMax } = await engine.loadModel();
    assert.equal(languages.length, 99);
    assert.equal(samplesMax, 480_000);
    firstFox = recognizeFox();
    const transcript = await firstFox;
    assert.equal(transcript.text, 'The quick brown fox jumps over the lazy dog.');
    assert.equal(transcript.language, 'en');
    assert.ok(transcript.noSpeech < 0.5 && transcript.logProbability > -0.7);
    assert.equal(transcript.words.map((word) => word.text + word.punctuation).join(''), transcript.text);
    assert.equal(transcript.words.length, 9);
    for (const [at, { beginMs, endMs }] of transcript.words.entries())
      assert.ok(
        beginMs >= (transcript.words[at - 1]?.endMs ?? 0) && endMs > beginMs,
        `word ${at}: ${beginMs} to ${endMs}`,
      );
    // The speech ends at 2.8 s, the file at 3.1 s.
    assert.ok((transcript.words.at(-1)?.endMs ?? Infinity) <= 2_850);
  });

  it('detects another language, and chooses among the requested ones', async () => {
    const transcript = await engine.recognize(createRequest(morning), never);
    assert.equal(transcript.language, 'de');
    assert.match(transcript.text, /^Guten Morgen, wie geht es Ihnen/);
    assert.deepEqual(transcript.words, []);
    assert.equal((await engine.recognize(createRequest(morning, { languages: ['zh', 'en'] }), never)).language, 'en');
    await assert.rejects(engine.recognize(createRequest(fox, { languages: ['xx'] }), never), {
      kind: 'invalid-request',
    });
  });

  it('recognizes hotwords, but not those of another language', async () => {
    const hotwords = ['Qwen', 'Kubernetes', 'Grafana'].map((text) => ({ text, weight: 4, language: 'en' }));
    const plain = await engine.recognize(createRequest(names), never);
    assert.equal(plain.text, 'We deploy the QN model on Kubernetes.');
    const helped = await engine.recognize(createRequest(names, { hotwords }), never);
    assert.equal(helped.text, 'We deploy the Qwen model on Kubernetes.');
    assert.equal(helped.isBiasDropped, false);
    const otherLanguage = hotwords.map((hotword) => ({ ...hotword, language: 'fr' }));
    assert.equal((await engine.recognize(createRequest(names, { hotwords: otherLanguage }), never)).text, plain.text);
  });

  it('finds a text that is at least as likely as that of the greedy search for live speech', async () => {
    const live = await engine.recognize(createRequest(names, { isLive: true, languages: ['en'] }), never);
    const file = await engine.recognize(createRequest(names, { languages: ['en'] }), never);
    assert.ok(file.logProbability >= live.logProbability, `${file.logProbability} and ${live.logProbability}`);
    assert.ok(file.tokens > live.tokens);
  });

  it('leaves a text as it is whose words only resemble hotwords', async () => {
    const hotwords = ['Foxconn', 'Jumpstart', 'Dogecoin', 'Lacey'].map((text) => ({ text, weight: 5 }));
    const { text } = await engine.recognize(createRequest(fox, { hotwords }), never);
    assert.equal(text, 'The quick brown fox jumps over the lazy dog.');
  });

  it('recognizes nothing in silence', async () => {
    for (const loudness of [0, 0.0003]) {
      const still = Float32Array.from({ length: 32_000 }, (_, i) => loudness * Math.sin(i * i));
      assert.equal((await engine.recognize(createRequest(still), never)).text, '');
    }
  });

  it('stops when the caller aborts, and recognizes the same in the same speech afterwards', async () => {
    const caller = new AbortController();
    const recognition = engine.recognize(createRequest(fox), caller.signal);
    setImmediate(() => caller.abort());
    await assert.rejects(recognition, { kind: 'cancelled' });
    assert.deepEqual(await recognizeFox(), await firstFox);
  });

  it('distinguishes voice from silence', async () => {
    const samples = new Float32Array(512 * 150);
    samples.set(fox.subarray(0, 512 * 80), 512 * 40);
    const { probabilities } = await engine.detectVoice(samples, undefined, never);
    assert.equal(probabilities.length, 150);
    assert.ok(probabilities.slice(0, 38).every((probability) => probability < 0.3));
    assert.ok(probabilities.slice(45, 115).filter((probability) => probability > 0.5).length > 50);
  });

  it('tokenizes like the tokenizers library', async () => {
    const file = await readFile(join(getSpeechWeightsFolder('svc-asr'), 'tokenizer.json'), 'utf8');
    const tokenizer = createBytePairTokenizer(JSON.parse(file));
    const text = "Don't stop — it's 3.5% (naïve) 中关村 北京的天气";
    // Computed with the tokenizers library.
    assert.deepEqual(
      tokenizer.encode(text),
      [
        7450, 380, 1590, 3466, 309, 311, 805, 13, 20, 4, 522, 629, 15487, 303, 8, 220, 5975, 28053, 39553, 220, 26668,
        31375, 1546, 6135, 42204,
      ],
    );
    assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
  });
});
