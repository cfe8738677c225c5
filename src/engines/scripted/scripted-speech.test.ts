import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RecognitionRequest } from '../speech-engine.ts';
import { createScriptedSpeech } from './scripted-speech.ts';

const request = (fields: Partial<RecognitionRequest> = {}): RecognitionRequest => ({
  id: 'r',
  owner: { workspace: 'w', key: 'k' },
  samples: new Float32Array(16_000),
  languages: [],
  hotwords: [],
  wantsWords: true,
  ...fields,
});
const never = new AbortController().signal;

describe('scripted speech', () => {
  it('is what its script hears in the samples, in words that last equally long', async () => {
    const engine = createScriptedSpeech({ hear: ({ samples }) => `It had ${samples.length}, or so.` });
    const { text, words, language } = await engine.recognize(request(), never);
    assert.equal(text, 'It had 16000, or so.');
    assert.equal(words.map((word) => word.text + word.punctuation).join(''), text);
    assert.deepEqual(words[2], { text: '16000', punctuation: ', ', beginMs: 400, endMs: 600 });
    assert.equal(language, 'en');
  });

  it('is refused in a language that it does not know, and cancelled by its signal', async () => {
    const engine = createScriptedSpeech({ hear: () => '' });
    await assert.rejects(engine.recognize(request({ languages: ['xx'] }), never), { kind: 'invalid-request' });
    await assert.rejects(engine.recognize(request(), AbortSignal.abort()), { kind: 'cancelled' });
  });

  it('is voice where it is loud', async () => {
    const engine = createScriptedSpeech({ hear: () => '' });
    const samples = Float32Array.from({ length: 512 * 40 }, (_, i) =>
      Math.floor(i / 5_120) === 1 ? 0.3 * Math.sin(i / 3) : 0,
    );
    const { probabilities } = await engine.detectVoice(samples, undefined, never);
    assert.deepEqual(
      probabilities.map((probability) => probability > 0.5),
      probabilities.map((_, frame) => Math.floor(frame / 10) === 1),
    );
  });
});
