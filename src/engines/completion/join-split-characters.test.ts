import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TokenLogprob } from '../../core/event.ts';
import { joinSplitCharacters } from './join-split-characters.ts';

const encoder = new TextEncoder();

/** Bytes of each token, by its id. */
const VOCABULARY: ReadonlyMap<number, readonly number[]> = new Map([
  [1, [...encoder.encode('na')]],
  [2, [0x20, 0xe6]],
  [3, [0x97]],
  [4, [0xa5]],
  [5, [...encoder.encode('本')]],
  [6, [0xe8]],
  [7, [0xaa]],
  [8, [0x9e]],
]);

const decode = (ids: readonly number[]): string =>
  new TextDecoder().decode(Uint8Array.from(ids.flatMap((id) => VOCABULARY.get(id) ?? [])));

/** Creates entries as SGLang reports them: each token is decoded by itself. */
const createEntries = (ids: readonly number[]): readonly TokenLogprob[] =>
  ids.map((id) => {
    const token = decode([id]);
    const own = { token, bytes: [...encoder.encode(token)], logprob: -id };
    return { ...own, top: [own, { token: '\uFFFD', bytes: [0xef, 0xbf, 0xbd], logprob: -9 }] };
  });

async function join(ids: readonly number[]) {
  const calls: (readonly (readonly number[])[])[] = [];
  const entries = createEntries(ids);
  const joined = await joinSplitCharacters(entries, {
    ids,
    async decodeTokenLists(lists) {
      calls.push(lists);
      return lists.map(decode);
    },
  });
  return { joined, calls, texts: joined.map(({ token }) => token) };
}

describe('joinSplitCharacters', () => {
  it('gives a character to the last of its tokens, and decodes all in one call', async () => {
    const { joined, calls, texts } = await join([1, 2, 3, 4, 5, 6, 7, 8]);
    assert.deepEqual(texts, ['na', '', '', ' 日', '本', '', '', '語']);
    assert.equal(calls.length, 1);
    assert.deepEqual(joined[3]?.bytes, [...encoder.encode(' 日')]);
    assert.deepEqual(
      joined.map(({ logprob }) => logprob),
      [-1, -2, -3, -4, -5, -6, -7, -8],
    );
  });

  it('changes the text of the token among its alternatives too, and no other one', async () => {
    const { joined } = await join([2, 3, 4]);
    assert.deepEqual(
      joined[2]?.top.map(({ token, logprob }) => [token, logprob]),
      [
        [' 日', -4],
        ['\uFFFD', -9],
      ],
    );
  });

  it('separates adjacent characters', async () => {
    assert.deepEqual((await join([2, 3, 4, 6, 7, 8])).texts, ['', '', ' 日', '', '', '語']);
  });

  it('keeps the replacement characters of an incomplete character', async () => {
    assert.deepEqual((await join([6, 7, 1, 7, 6, 7, 8, 6])).texts, [
      '\uFFFD',
      '\uFFFD',
      'na',
      '\uFFFD',
      '',
      '',
      '語',
      '\uFFFD',
    ]);
  });

  it('calls nothing for tokens of whole characters', async () => {
    const { calls, texts } = await join([1, 5]);
    assert.deepEqual([texts, calls], [['na', '本'], []]);
  });
});
