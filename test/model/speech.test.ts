import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { RecognitionRequest, SpeechEngine } from '../../src/engines/speech-engine.ts';
import { createBytePairs } from '../../src/engines/speech/byte-pairs.ts';
import { createSpeechEngine } from '../../src/engines/speech/speech-engine.ts';
import { createSpeechProcess } from '../../src/engines/speech/speech-process.ts';
import { lacksSpeech, readSpeech, runtimeFolder, weightsAt } from './speech-files.ts';

const WHISPER = 'whisper-base';
const VOICE = 'silero-vad.onnx';
const never = new AbortController().signal;
const [fox, names, morning] = [readSpeech('fox'), readSpeech('names'), readSpeech('morning')];

const request = (samples: Float32Array, fields: Partial<RecognitionRequest> = {}): RecognitionRequest => ({
  id: 'r',
  owner: { workspace: 'w', key: 'k' },
  samples,
  languages: [],
  hotwords: [],
  wantsWords: false,
  ...fields,
});

describe('recognition by whisper', { skip: lacksSpeech(WHISPER) }, () => {
  let runFolder: string;
  let engine: SpeechEngine;
  before(async () => {
    runFolder = await mkdtemp(join(tmpdir(), 'parley-model-'));
    const voiceFile = weightsAt(VOICE);
    const options = { name: WHISPER, runtimeFolder, weightsFolder: weightsAt(WHISPER) ?? '', runFolder };
    const process = await createSpeechProcess(
      {
        ...options,
        ...(voiceFile === undefined ? {} : { voiceFile }),
        threads: 1,
        queuePlacesMax: 8,
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

  it('hears what was said, in which language, and when', async () => {
    const { languages, samplesMax } = await engine.model();
    assert.equal(languages.length, 99);
    assert.equal(samplesMax, 480_000);
    const heard = await engine.recognize(request(fox, { wantsWords: true }), never);
    assert.equal(heard.text, 'The quick brown fox jumps over the lazy dog.');
    assert.equal(heard.language, 'en');
    assert.ok(heard.noSpeech < 0.5 && heard.logProbability > -0.7);
    assert.equal(heard.words.map((word) => word.text + word.punctuation).join(''), heard.text);
    assert.equal(heard.words.length, 9);
    for (const [at, { beginMs, endMs }] of heard.words.entries())
      assert.ok(beginMs >= (heard.words[at - 1]?.endMs ?? 0) && endMs > beginMs, `word ${at}: ${beginMs} to ${endMs}`);
    // The synthesiser falls silent after 2.8 s, the file ends after 3.1.
    assert.ok((heard.words.at(-1)?.endMs ?? Infinity) <= 2_850);
  });

  it('hears another language, and one of two where it may be one of them', async () => {
    const heard = await engine.recognize(request(morning), never);
    assert.equal(heard.language, 'de');
    assert.match(heard.text, /^Guten Morgen, wie geht es Ihnen/);
    assert.deepEqual(heard.words, []);
    assert.equal((await engine.recognize(request(morning, { languages: ['zh', 'en'] }), never)).language, 'en');
    await assert.rejects(engine.recognize(request(fox, { languages: ['xx'] }), never), { kind: 'invalid-request' });
  });

  it('hears names that it is told of, and not those of another language', async () => {
    const hotwords = ['Qwen', 'Kubernetes', 'Grafana'].map((text) => ({ text, weight: 4, language: 'en' }));
    const plain = await engine.recognize(request(names), never);
    assert.doesNotMatch(plain.text, /Qwen|Kubernetes/);
    const helped = await engine.recognize(request(names, { hotwords }), never);
    assert.equal(helped.text, 'We deploy the Qwen model on Kubernetes.');
    assert.equal(helped.isBiasDropped, false);
    const others = hotwords.map((hotword) => ({ ...hotword, language: 'fr' }));
    assert.equal((await engine.recognize(request(names, { hotwords: others }), never)).text, plain.text);
  });

  it('hears nothing in silence, and the same text in the same speech', async () => {
    for (const loudness of [0, 0.0003]) {
      const still = Float32Array.from({ length: 32_000 }, (_, i) => loudness * Math.sin(i * i));
      assert.equal((await engine.recognize(request(still), never)).text, '');
    }
    assert.deepEqual(
      await engine.recognize(request(fox, { wantsWords: true }), never),
      await engine.recognize(request(fox, { wantsWords: true }), never),
    );
  });

  it('ends when nobody wants it any more, and hears the next one', async () => {
    const gone = new AbortController();
    const left = engine.recognize(request(fox), gone.signal);
    setImmediate(() => gone.abort());
    await assert.rejects(left, { kind: 'cancelled' });
    assert.match((await engine.recognize(request(fox), never)).text, /brown fox/);
  });

  it('knows voice from silence', async () => {
    const samples = new Float32Array(512 * 150);
    samples.set(fox.subarray(0, 512 * 80), 512 * 40);
    const { probabilities } = await engine.detectVoice(samples, undefined, never);
    assert.equal(probabilities.length, 150);
    assert.ok(probabilities.slice(0, 38).every((probability) => probability < 0.3));
    assert.ok(probabilities.slice(45, 115).filter((probability) => probability > 0.5).length > 50);
  });

  it('spells as its tokenizer does elsewhere', async () => {
    const file = await readFile(join(weightsAt(WHISPER) ?? '', 'tokenizer.json'), 'utf8');
    const pairs = createBytePairs(JSON.parse(file));
    const text = "Don't stop — it's 3.5% (naïve) 中关村 北京的天气";
    // As the tokenizers library gives them.
    assert.deepEqual(
      pairs.encode(text),
      [
        7450, 380, 1590, 3466, 309, 311, 805, 13, 20, 4, 522, 629, 15487, 303, 8, 220, 5975, 28053, 39553, 220, 26668,
        31375, 1546, 6135, 42204,
      ],
    );
    assert.equal(pairs.decode(pairs.encode(text)), text);
  });
});
