import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Hotword } from '../../core/speech.ts';
import { letterTokens } from './__fixtures__/letter-tokens.ts';
import { createBytePairs } from './byte-pairs.ts';
import { createHotwordBias } from './hotword-bias.ts';
import type { HotwordBias } from './hotword-bias.ts';
import { createHotwordTrie } from './hotword-trie.ts';

const { encode, decode } = createBytePairs(letterTokens(['Ġ Q', 'w e', 'we n', 'Ġ K', 'Ġ x']));
const id = (text: string): number => {
  const tokens = encode(text);
  assert.equal(tokens.length, 1, `${text} is one token`);
  return tokens[0] ?? -1;
};
const [Q, wen, K, x] = [id(' Q'), id('wen'), id(' K'), id(' x')];

/** Scores of all tokens; those that are not named are far below. */
const scores = (named: Readonly<Record<number, number>>): Float32Array =>
  Float32Array.from({ length: 400 }, (_, token) => named[token] ?? -100);

const biasOf = (...hotwords: Hotword[]): HotwordBias => createHotwordBias(createHotwordTrie(hotwords, encode), decode);

const said = (bias: HotwordBias, ...tokens: readonly number[]): HotwordBias => {
  for (const token of tokens) bias.take(token);
  return bias;
};

describe('the help for hotwords', () => {
  it('takes their beginning where the weight makes up for the distance to the best, and no further', () => {
    for (const [weight, distance, isTaken] of [
      [1, 0.7, true],
      [1, 0.9, false],
      [4, 3.1, true],
      [4, 3.3, false],
      [5, 3.9, true],
      [5, 4.1, false],
    ] as const)
      assert.equal(
        biasOf({ text: 'Qwen', weight }).choose(scores({ [x]: 0, [Q]: -distance }), x),
        isTaken ? Q : x,
        `weight ${weight} at ${distance}`,
      );
  });

  it('goes on with one that has begun more readily than it begins one', () => {
    const bias = said(biasOf({ text: 'Qwen', weight: 1 }), Q);
    assert.equal(bias.choose(scores({ [x]: 0, [wen]: -2.7 }), x), wen);
    assert.equal(bias.choose(scores({ [x]: 0, [wen]: -2.9 }), x), x);
  });

  it('leaves alone what was hardly heard at all', () => {
    assert.equal(biasOf({ text: 'Qwen', weight: 20 }).choose(scores({ [x]: 0, [Q]: -7.9 }), x), Q);
    assert.equal(biasOf({ text: 'Qwen', weight: 20 }).choose(scores({ [x]: 0, [Q]: -8.1 }), x), x);
  });

  it('begins none in the middle of a word', () => {
    const bias = biasOf({ text: 'wen', weight: 5 });
    assert.equal(bias.choose(scores({ [x]: 0, [wen]: -1 }), x), x);
  });

  it('begins none right behind another or behind a beginning that came to nothing, signs between them or not', () => {
    const near = scores({ [x]: 0, [K]: -1 });
    const words = [
      { text: 'Qwen', weight: 4 },
      { text: 'K2', weight: 4 },
    ];
    for (const before of [
      [Q, wen],
      [Q, wen, ...encode(',')],
      [Q, x],
    ])
      assert.equal(said(biasOf(...words), ...before).choose(near, x), x, decode(before));
    for (const before of [[Q, wen, x], [Q, x, x], []])
      assert.equal(said(biasOf(...words), ...before).choose(near, x), K, decode(before));
  });

  it('helps a hotword twice, and then no more', () => {
    const bias = biasOf({ text: 'Qwen', weight: 4 });
    const near = scores({ [x]: 0, [Q]: -1 });
    said(bias, Q, wen, x);
    assert.equal(bias.choose(near, x), Q);
    said(bias, Q, wen, x);
    assert.equal(bias.choose(near, x), x);
  });

  it('begins words of scripts without blanks anywhere, but not inside a character', () => {
    const [first = -1, second = -1] = encode('中');
    const bias = biasOf({ text: '中国', weight: 4 });
    assert.equal(bias.choose(scores({ [x]: 0, [first]: -1 }), x), first);
    const other = encode('京');
    said(bias, ...other.slice(0, 1));
    assert.equal(bias.choose(scores({ [x]: 0, [first]: -1 }), x), x);
    assert.ok(second >= 0);
  });
});

describe('hotwords by their tokens', () => {
  it('share what they have in common, and pass on the larger weight', () => {
    const root = createHotwordTrie(
      [
        { text: 'Qa', weight: 2 },
        { text: 'Qb', weight: 5 },
      ],
      encode,
    );
    assert.deepEqual([...root.next.keys()], [Q]);
    const node = root.next.get(Q);
    assert.equal(node?.weight, 5);
    assert.deepEqual(node?.words, [0, 1]);
    assert.deepEqual(
      [...(node?.next.values() ?? [])].map(({ weight, end }) => [weight, end]),
      [
        [2, 0],
        [5, 1],
      ],
    );
  });
});
