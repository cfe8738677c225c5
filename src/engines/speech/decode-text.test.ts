import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createScriptedSession, spellOut, TEST_TOKENS, testTokenizer } from './__fixtures__/scripted-decoder.ts';
import { decodeText, type DecodeTextRequest } from './decode-text.ts';
import { createHotwordBias } from './hotword-bias.ts';
import { createHotwordTrie } from './hotword-trie.ts';
import type { DecoderSession } from './whisper-model.ts';

const HEAD = [TEST_TOKENS.startOfTranscript];

const decode = (of: DecoderSession, fields: Partial<DecodeTextRequest> = {}, signal = new AbortController().signal) =>
  decodeText(
    {
      session: of,
      promptTokens: HEAD,
      temperature: 0,
      random: () => 0,
      tokensMax: 50,
      includeAttention: true,
      ...fields,
    },
    TEST_TOKENS,
    signal,
  );
const getText = ({ tokens: text }: { readonly tokens: readonly number[] }): string => testTokenizer.decode(text);

describe('decodeText', () => {
  it('takes the likeliest token until the end, and returns the attention of each', async () => {
    const decoded = await decode(createScriptedSession(spellOut('hello')));
    assert.equal(getText(decoded), 'hello');
    assert.equal(decoded.generated, 6);
    assert.ok(decoded.logProbability > -0.01 && decoded.logProbability <= 0);
    assert.deepEqual(
      decoded.attention.map((row) => row[0]),
      [0, 1, 2, 3, 4, 5],
    );
  });

  it('never generates suppressed or special tokens', async () => {
    const start = createScriptedSession((output) =>
      output === '' ? { '^': 9, '': 8, '#': 7, a: 1 } : { '': 5, '#': 9, '^': 1 },
    );
    assert.equal(getText(await decode(start)), 'a');
    const special = createScriptedSession((output) => (output === '' ? { a: 1 } : { '': 1 }));
    const { step } = special;
    special.step = async (given) => {
      const result = await step(given);
      result.scores[TEST_TOKENS.transcribe] = 99;
      return result;
    };
    assert.equal(getText(await decode(special)), 'a');
  });

  it('stops at an endless repetition, and removes the repetitions', async () => {
    const decoded = await decode(createScriptedSession((output) => ({ ['ab'[output.length % 2] ?? '']: 5 })));
    assert.ok(decoded.isLooping);
    assert.equal(getText(decoded), 'ab');
    assert.equal(decoded.attention.length, 3);
  });

  it('stops at the token limit', async () => {
    const decoded = await decode(createScriptedSession(spellOut('abcdefghijkl')), { tokensMax: 5 });
    assert.equal(getText(decoded), 'abcde');
    assert.equal(decoded.isLooping, false);
  });

  it('computes the probability and attention of a known text', async () => {
    const next = (output: string) => (output === 'h' ? { a: 1, i: 0 } : { h: 9, '': output === 'hi' ? 10 : 0 });
    const knownText = testTokenizer.encode('hi');
    const decoded = await decode(createScriptedSession(next), { knownText });
    assert.equal(getText(decoded), 'hi');
    // ln(1 / (1 + e)), ln(e^10 / (e^10 + e^9)) and a token that is certain, over three tokens.
    assert.equal(decoded.logProbability.toFixed(2), '-0.54');
    assert.equal(decoded.attention.length, 3);
  });

  it('samples tokens at a temperature above 0', async () => {
    const createSession = () => createScriptedSession((output) => (output === '' ? { a: 1, b: 1 } : { '': 9 }));
    assert.equal(getText(await decode(createSession(), { temperature: 1, random: () => 0.1 })), 'a');
    assert.equal(getText(await decode(createSession(), { temperature: 1, random: () => 0.9 })), 'b');
  });

  it('stops between two tokens after an abort', async () => {
    const gone = new AbortController();
    const steps: string[] = [];
    const slow = createScriptedSession(
      (output) => {
        if (output === 'abc') gone.abort(new Error('gone'));
        return spellOut('abcdef')(output);
      },
      '',
      steps,
    );
    await assert.rejects(decode(slow, {}, gone.signal), /gone/);
    assert.equal(steps.at(-1), 'abc');
  });
});

describe('decodeText with hotwords', () => {
  const decodeWithHotwords = (of: DecoderSession, weight: number, ...texts: readonly string[]) =>
    decode(of, {
      bias: createHotwordBias(
        createHotwordTrie(
          texts.map((text) => ({ text, weight })),
          testTokenizer.encode,
        ),
        testTokenizer.decode,
      ),
    });

  it('takes a hotword that is nearly the likeliest, and reports the probability of the model', async () => {
    const createNearSession = () =>
      createScriptedSession((output) =>
        output === 'a'
          ? { ' ': 5 }
          : output === 'a '
            ? { x: 5, K: 4 }
            : output === 'a K'
              ? { '2': 5 }
              : output === ''
                ? { a: 5 }
                : { '': 5 },
      );
    assert.equal(getText(await decodeWithHotwords(createNearSession(), 1, 'Q')), 'a x');
    const decoded = await decodeWithHotwords(createNearSession(), 2, 'K2');
    assert.equal(getText(decoded), 'a K2');
    assert.ok(decoded.logProbability < -0.2, 'the boosted token keeps its low probability');
  });

  it('rolls a hotword back that cannot be completed, and continues as without it', async () => {
    const steps: string[] = [];
    const start = createScriptedSession(
      (output) =>
        output === ''
          ? { ' ': 5 }
          : output === ' '
            ? { x: 5, K: 4 }
            : output === ' K'
              ? { y: 5, '2': -20 }
              : output === ' x'
                ? { z: 5 }
                : { '': 5 },
      '',
      steps,
    );
    const decoded = await decodeWithHotwords(start, 4, 'K2');
    assert.equal(getText(decoded), ' xz');
    assert.ok(steps.includes(' K'), 'the hotword was tried');
    assert.ok(decoded.logProbability > -0.5);
    assert.equal(decoded.attention.length, 4);
  });

  it('keeps the word before a hotword that follows one token later', async () => {
    const start = createScriptedSession((output) =>
      output === ''
        ? { a: 5, ' ': 4 }
        : output.endsWith(' ')
          ? { K: 5 }
          : output.endsWith('K')
            ? { '2': 5 }
            : output === 'a'
              ? { ' ': 5 }
              : { '': 5 },
    );
    assert.equal(getText(await decodeWithHotwords(start, 4, 'K2')), 'a K2');
  });
});
