import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SPECIAL, letterTokens } from './__fixtures__/letter-tokens.ts';
import { createBytePairs } from './byte-pairs.ts';
import { decode } from './decode.ts';
import type { DecodeRequest } from './decode.ts';
import { createHotwordBias } from './hotword-bias.ts';
import { createHotwordTrie } from './hotword-trie.ts';
import type { Reading } from './whisper-model.ts';
import { createWhisperTokens } from './whisper-tokens.ts';

const pairs = createBytePairs(letterTokens());
const specialId = (name: string): number => pairs.special.get(`<|${name}|>`) ?? -1;
const tokens = createWhisperTokens(pairs, {
  suppress_ids: [...pairs.encode('#')],
  suppress_ids_begin: [...pairs.encode('^'), specialId('endoftext')],
  lang_ids: [specialId('en')],
});
const HEAD = [tokens.start];

/** Reads what `next` scores highest after a text: characters with their scores, `''` for the end. */
function reading(next: (said: string) => Readonly<Record<string, number>>, said = '', asked: string[] = []): Reading {
  return {
    async step(given) {
      said += pairs.decode(given);
      asked.push(said);
      const scores = new Float32Array(256 + SPECIAL.length).fill(-50);
      for (const [text, score] of Object.entries(next(said)))
        scores[text === '' ? tokens.end : (pairs.encode(text)[0] ?? -1)] = score;
      const row = Float32Array.of(said.length);
      return { scores, attention: () => row };
    },
    fork: () => reading(next, said, asked),
  };
}

/** The characters of a text one by one, then its end. */
const script =
  (text: string) =>
  (said: string): Readonly<Record<string, number>> => ({ [text[said.length] ?? '']: 10 });

const read = (of: Reading, fields: Partial<DecodeRequest> = {}, signal = new AbortController().signal) =>
  decode(
    { reading: of, head: HEAD, temperature: 0, random: () => 0, tokensMax: 50, keepsAttention: true, ...fields },
    tokens,
    signal,
  );
const textOf = ({ tokens: text }: { readonly tokens: readonly number[] }): string => pairs.decode(text);

describe('a reading', () => {
  it('goes on with the likeliest token until the end, and knows where it looked for each', async () => {
    const decoded = await read(reading(script('hello')));
    assert.equal(textOf(decoded), 'hello');
    assert.equal(decoded.generated, 6);
    assert.ok(decoded.logProbability > -0.01 && decoded.logProbability <= 0);
    assert.deepEqual(
      decoded.attention.map((row) => row[0]),
      [0, 1, 2, 3, 4, 5],
    );
  });

  it('never says what is suppressed, special, or no beginning', async () => {
    const start = reading((said) => (said === '' ? { '^': 9, '': 8, '#': 7, a: 1 } : { '': 5, '#': 9, '^': 1 }));
    assert.equal(textOf(await read(start)), 'a');
    const special = reading((said) => (said === '' ? { a: 1 } : { '': 1 }));
    const { step } = special;
    special.step = async (given) => {
      const result = await step(given);
      result.scores[tokens.transcribe] = 99;
      return result;
    };
    assert.equal(textOf(await read(special)), 'a');
  });

  it('breaks off where it repeats itself, and keeps one of all the times', async () => {
    const decoded = await read(reading((said) => ({ ['ab'[said.length % 2] ?? '']: 5 })));
    assert.ok(decoded.isLooping);
    assert.equal(textOf(decoded), 'ab');
    assert.equal(decoded.attention.length, 3);
  });

  it('says no more than it may', async () => {
    const decoded = await read(reading(script('abcdefghijkl')), { tokensMax: 5 });
    assert.equal(textOf(decoded), 'abcde');
    assert.equal(decoded.isLooping, false);
  });

  it('takes less likely tokens by chance where it is warm', async () => {
    const start = () => reading((said) => (said === '' ? { a: 1, b: 1 } : { '': 9 }));
    assert.equal(textOf(await read(start(), { temperature: 1, random: () => 0.1 })), 'a');
    assert.equal(textOf(await read(start(), { temperature: 1, random: () => 0.9 })), 'b');
  });

  it('ends between two tokens when it is no longer wanted', async () => {
    const gone = new AbortController();
    const asked: string[] = [];
    const slow = reading(
      (said) => {
        if (said === 'abc') gone.abort(new Error('gone'));
        return script('abcdef')(said);
      },
      '',
      asked,
    );
    await assert.rejects(read(slow, {}, gone.signal), /gone/);
    assert.equal(asked.at(-1), 'abc');
  });
});

describe('a reading with help for hotwords', () => {
  const helped = (of: Reading, weight: number, ...texts: readonly string[]) =>
    read(of, {
      bias: createHotwordBias(
        createHotwordTrie(
          texts.map((text) => ({ text, weight })),
          pairs.encode,
        ),
        pairs.decode,
      ),
    });

  it('says a hotword that was nearly heard, and its probability is the model’s own', async () => {
    const near = () =>
      reading((said) =>
        said === 'a'
          ? { ' ': 5 }
          : said === 'a '
            ? { x: 5, K: 4 }
            : said === 'a K'
              ? { '2': 5 }
              : said === ''
                ? { a: 5 }
                : { '': 5 },
      );
    assert.equal(textOf(await helped(near(), 1, 'Q')), 'a x');
    const decoded = await helped(near(), 2, 'K2');
    assert.equal(textOf(decoded), 'a K2');
    assert.ok(decoded.logProbability < -0.2, 'the token that was helped counts as unlikely as it was');
  });

  it('takes all of it back where the rest of the hotword was not heard, and reads on as if nothing had been', async () => {
    const asked: string[] = [];
    const start = reading(
      (said) =>
        said === ''
          ? { ' ': 5 }
          : said === ' '
            ? { x: 5, K: 4 }
            : said === ' K'
              ? { y: 5, '2': -20 }
              : said === ' x'
                ? { z: 5 }
                : { '': 5 },
      '',
      asked,
    );
    const decoded = await helped(start, 4, 'K2');
    assert.equal(textOf(decoded), ' xz');
    assert.ok(asked.includes(' K'), 'it was tried');
    assert.ok(decoded.logProbability > -0.5);
    assert.equal(decoded.attention.length, 4);
  });

  it('lets the word before a hotword stand, where the hotword is heard behind it', async () => {
    const start = reading((said) =>
      said === ''
        ? { a: 5, ' ': 4 }
        : said.endsWith(' ')
          ? { K: 5 }
          : said.endsWith('K')
            ? { '2': 5 }
            : said === 'a'
              ? { ' ': 5 }
              : { '': 5 },
    );
    assert.equal(textOf(await helped(start, 4, 'K2')), 'a K2');
  });
});
