import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Hotword } from '../../core/speech.ts';
import { createTestTokenizerFile } from './__fixtures__/test-tokenizer-file.ts';
import { SCORE_BUDGET_PER_WEIGHT } from './hotword-bias-constants.ts';
import { createBytePairTokenizer } from './byte-pair-tokenizer.ts';
import { createHotwordBias, type HotwordBias } from './hotword-bias.ts';
import { createHotwordTrie } from './hotword-trie.ts';

const { encode, decode } = createBytePairTokenizer(createTestTokenizerFile(['Ġ Q', 'w e', 'we n', 'Ġ K', 'Ġ x']));
const getTokenId = (text: string): number => {
  const tokens = encode(text);
  assert.equal(tokens.length, 1, `${text} is one token`);
  return tokens[0] ?? -1;
};
const [Q, wen, K, x] = [getTokenId(' Q'), getTokenId('wen'), getTokenId(' K'), getTokenId(' x')];

/** Creates scores; tokens without a given score lie far below. */
const createScores = (named: Readonly<Record<number, number>>): Float32Array =>
  Float32Array.from({ length: 400 }, (_, token) => named[token] ?? -100);

const createBias = (...hotwords: Hotword[]): HotwordBias =>
  createHotwordBias(createHotwordTrie(hotwords, encode), decode);

const acceptTokens = (bias: HotwordBias, ...tokens: readonly number[]): HotwordBias => {
  for (const token of tokens) bias.accept(token);
  return bias;
};

/** Returns the decision for these scores: the boosted token, the best one, or `rollback`. */
const decideToken = (bias: HotwordBias, of: Readonly<Record<number, number>>, best = x): number | 'rollback' => {
  const choice = bias.decide(createScores(of), best);
  return choice.type === 'boost' ? choice.token : choice.type === 'rollback' ? 'rollback' : best;
};

/** Asserts that the token is boosted, and accepts it. */
const boostTo = (bias: HotwordBias, token: number, below: number): HotwordBias => {
  assert.equal(decideToken(bias, { [x]: 0, [token]: -below }), token);
  bias.accept(token);
  return bias;
};

describe('HotwordBias', () => {
  it('boosts the first token of a hotword within the budget of its weight', () => {
    for (const weight of [1, 3, 5]) {
      const budget = SCORE_BUDGET_PER_WEIGHT * weight;
      assert.equal(decideToken(createBias({ text: 'Qwen', weight }), { [x]: 0, [Q]: 0.1 - budget }), Q);
      assert.equal(decideToken(createBias({ text: 'Qwen', weight }), { [x]: 0, [Q]: -0.1 - budget }), x);
    }
  });

  it('applies the budget to the whole hotword, and rolls back if it is exceeded', () => {
    const budget = SCORE_BUDGET_PER_WEIGHT * 4;
    const createStarted = () => boostTo(createBias({ text: 'Qwen', weight: 4 }), Q, budget / 2);
    assert.equal(decideToken(createStarted(), { [x]: 0, [wen]: 0.1 - budget / 2 }), wen);
    assert.equal(decideToken(createStarted(), { [x]: 0, [wen]: -0.1 - budget / 2 }), 'rollback');
  });

  it('marks the first token of a trial, and does not boost likely tokens', () => {
    const bias = createBias({ text: 'Qwen', weight: 4 });
    assert.deepEqual(bias.decide(createScores({ [x]: 0, [Q]: -1 }), x), { type: 'boost', token: Q, isFirst: true });
    bias.accept(Q);
    assert.deepEqual(bias.decide(createScores({ [x]: 0, [wen]: -1 }), x), {
      type: 'boost',
      token: wen,
      isFirst: false,
    });
    const natural = acceptTokens(createBias({ text: 'Qwen', weight: 4 }), Q);
    assert.deepEqual(natural.decide(createScores({ [wen]: 0, [x]: -1 }), wen), { type: 'best' });
    assert.deepEqual(natural.decide(createScores({ [x]: 0, [wen]: -1 }), x), {
      type: 'boost',
      token: wen,
      isFirst: true,
    });
    assert.equal(decideToken(natural, { [x]: 0, [wen]: -9 }), x);
  });

  it('does not restart a rolled back hotword at the same position', () => {
    const bias = boostTo(createBias({ text: 'Qwen', weight: 4 }), Q, 1);
    assert.equal(decideToken(bias, { [x]: 0, [wen]: -9 }), 'rollback');
    bias.accept(x);
    bias.accept(x);
    assert.equal(decideToken(bias, { [x]: 0, [Q]: -1 }), Q);
  });

  it('postpones a hotword that is as likely after the best token', () => {
    const bias = createBias({ text: 'Qwen', weight: 4 });
    bias.decide(createScores({ [x]: 0, [Q]: -2 }), x);
    assert.ok(bias.shouldPostpone(Q, createScores({ [Q]: 0 })));
    assert.ok(bias.shouldPostpone(Q, createScores({ [x]: 0, [Q]: -1.9 })));
    assert.ok(!bias.shouldPostpone(Q, createScores({ [x]: 0, [Q]: -2.1 })));
  });

  it('does not start a hotword inside a word', () => {
    assert.equal(decideToken(createBias({ text: 'wen', weight: 5 }), { [x]: 0, [wen]: -0.1 }), x);
  });

  it('does not start a hotword directly after a boosted one', () => {
    const words = [
      { text: 'Qwen', weight: 4 },
      { text: 'K2', weight: 4 },
    ];
    const near = { [x]: 0, [K]: -1 };
    const createBoosted = () => boostTo(boostTo(createBias(...words), Q, 0.5), wen, 0.5);
    assert.equal(decideToken(createBoosted(), near), x);
    assert.equal(decideToken(acceptTokens(createBoosted(), ...encode(',')), near), x);
    assert.equal(decideToken(acceptTokens(createBoosted(), x), near), K);
    assert.equal(
      decideToken(acceptTokens(createBias(...words), Q, wen), near),
      K,
      'a hotword that was not boosted blocks nothing',
    );
  });

  it('boosts a hotword at most twice', () => {
    const bias = createBias({ text: 'Qwen', weight: 4 });
    for (let times = 0; times < 2; times++) acceptTokens(boostTo(boostTo(bias, Q, 0.5), wen, 0.5), x);
    assert.equal(decideToken(bias, { [x]: 0, [Q]: -0.5 }), x);
  });

  it('takes the shorter of two hotwords if the longer one is not recognized', () => {
    const bias = createBias({ text: 'Q', weight: 4 }, { text: 'Qwen', weight: 4 });
    boostTo(bias, Q, 1);
    assert.equal(decideToken(bias, { [x]: 0, [wen]: -9 }), x);
  });

  it('starts hotwords of scripts without spaces anywhere except inside a character', () => {
    const [first = -1] = encode('中');
    const bias = createBias({ text: '中国', weight: 4 });
    assert.equal(decideToken(bias, { [x]: 0, [first]: -1 }), first);
    const inside = acceptTokens(createBias({ text: '中国', weight: 4 }), ...encode('京').slice(0, 1));
    assert.equal(decideToken(inside, { [x]: 0, [first]: -1 }), x);
  });
});

describe('createHotwordTrie', () => {
  it('shares common prefixes with the largest weight', () => {
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
    assert.deepEqual(node?.hotwordIndexes, [0, 1]);
    assert.deepEqual(
      [...(node?.next.values() ?? [])].map(({ weight, completedIndex }) => [weight, completedIndex]),
      [
        [2, 0],
        [5, 1],
      ],
    );
  });
});
