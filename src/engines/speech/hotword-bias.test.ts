import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Hotword } from '../../core/speech.ts';
import { letterTokens } from './__fixtures__/letter-tokens.ts';
import { BUDGET_PER_WEIGHT } from './bias-scale.ts';
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

/** What is taken of these scores: the token that is helped, else the best one, or `back`. */
const chosen = (bias: HotwordBias, of: Readonly<Record<number, number>>, best = x): number | 'back' => {
  const choice = bias.choose(scores(of), best);
  return choice.type === 'help' ? choice.token : choice.type === 'back' ? 'back' : best;
};

/** A token that is helped and taken. */
const helpedTo = (bias: HotwordBias, token: number, below: number): HotwordBias => {
  assert.equal(chosen(bias, { [x]: 0, [token]: -below }), token);
  bias.take(token);
  return bias;
};

describe('the help for hotwords', () => {
  it('takes a beginning that lies no further below the best than the weight pays for', () => {
    for (const weight of [1, 3, 5]) {
      const budget = BUDGET_PER_WEIGHT * weight;
      assert.equal(chosen(biasOf({ text: 'Qwen', weight }), { [x]: 0, [Q]: 0.1 - budget }), Q);
      assert.equal(chosen(biasOf({ text: 'Qwen', weight }), { [x]: 0, [Q]: -0.1 - budget }), x);
    }
  });

  it('pays once for the whole hotword, and goes back where it cannot be finished', () => {
    const budget = BUDGET_PER_WEIGHT * 4;
    const begun = () => helpedTo(biasOf({ text: 'Qwen', weight: 4 }), Q, budget / 2);
    assert.equal(chosen(begun(), { [x]: 0, [wen]: 0.1 - budget / 2 }), wen);
    assert.equal(chosen(begun(), { [x]: 0, [wen]: -0.1 - budget / 2 }), 'back');
  });

  it('tells the first token of a trial from those that follow, and wants nothing for what was heard', () => {
    const bias = biasOf({ text: 'Qwen', weight: 4 });
    assert.deepEqual(bias.choose(scores({ [x]: 0, [Q]: -1 }), x), { type: 'help', token: Q, isFirst: true });
    bias.take(Q);
    assert.deepEqual(bias.choose(scores({ [x]: 0, [wen]: -1 }), x), { type: 'help', token: wen, isFirst: false });
    const natural = said(biasOf({ text: 'Qwen', weight: 4 }), Q);
    assert.deepEqual(natural.choose(scores({ [wen]: 0, [x]: -1 }), wen), { type: 'best' });
    assert.deepEqual(natural.choose(scores({ [x]: 0, [wen]: -1 }), x), { type: 'help', token: wen, isFirst: true });
    assert.equal(chosen(natural, { [x]: 0, [wen]: -9 }), x);
  });

  it('begins none where the trial that was taken back began, but behind it', () => {
    const bias = helpedTo(biasOf({ text: 'Qwen', weight: 4 }), Q, 1);
    assert.equal(chosen(bias, { [x]: 0, [wen]: -9 }), 'back');
    bias.take(x);
    bias.take(x);
    assert.equal(chosen(bias, { [x]: 0, [Q]: -1 }), Q);
  });

  it('waits where the hotword is heard as well behind the best token', () => {
    const bias = biasOf({ text: 'Qwen', weight: 4 });
    bias.choose(scores({ [x]: 0, [Q]: -2 }), x);
    assert.ok(bias.isLater(Q, scores({ [Q]: 0 })));
    assert.ok(bias.isLater(Q, scores({ [x]: 0, [Q]: -1.9 })));
    assert.ok(!bias.isLater(Q, scores({ [x]: 0, [Q]: -2.1 })));
  });

  it('begins none in the middle of a word', () => {
    assert.equal(chosen(biasOf({ text: 'wen', weight: 5 }), { [x]: 0, [wen]: -0.1 }), x);
  });

  it('begins none right behind one that was helped, signs between them or not', () => {
    const words = [
      { text: 'Qwen', weight: 4 },
      { text: 'K2', weight: 4 },
    ];
    const near = { [x]: 0, [K]: -1 };
    const helped = () => helpedTo(helpedTo(biasOf(...words), Q, 0.5), wen, 0.5);
    assert.equal(chosen(helped(), near), x);
    assert.equal(chosen(said(helped(), ...encode(',')), near), x);
    assert.equal(chosen(said(helped(), x), near), K);
    assert.equal(chosen(said(biasOf(...words), Q, wen), near), K, 'one that was heard needs no such care');
  });

  it('helps a hotword twice, and then no more', () => {
    const bias = biasOf({ text: 'Qwen', weight: 4 });
    for (let times = 0; times < 2; times++) said(helpedTo(helpedTo(bias, Q, 0.5), wen, 0.5), x);
    assert.equal(chosen(bias, { [x]: 0, [Q]: -0.5 }), x);
  });

  it('takes the shorter of two hotwords where the longer one was not heard', () => {
    const bias = biasOf({ text: 'Q', weight: 4 }, { text: 'Qwen', weight: 4 });
    helpedTo(bias, Q, 1);
    assert.equal(chosen(bias, { [x]: 0, [wen]: -9 }), x);
  });

  it('begins words of scripts without blanks anywhere, but not inside a character', () => {
    const [first = -1] = encode('中');
    const bias = biasOf({ text: '中国', weight: 4 });
    assert.equal(chosen(bias, { [x]: 0, [first]: -1 }), first);
    const inside = said(biasOf({ text: '中国', weight: 4 }), ...encode('京').slice(0, 1));
    assert.equal(chosen(inside, { [x]: 0, [first]: -1 }), x);
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
