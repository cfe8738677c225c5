import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testTokenizer } from './__fixtures__/scripted-decoder.ts';
import { mergeHotwords } from './merge-hotwords.ts';

const { encode, decode } = testTokenizer;

const merge = (plain: string, biased: string, ...hotwords: readonly string[]): string =>
  decode(
    mergeHotwords(encode(plain), encode(biased), {
      hotwords: hotwords.map((text) => ({ text, weight: 4 })),
      decode,
    }),
  );

describe('mergeHotwords', () => {
  it('takes the hotword, and leaves words elsewhere as they were decoded without hotwords', () => {
    assert.equal(merge(' Press 1 for naka mora.', ' Press one for Nakamura.', 'Nakamura'), ' Press 1 for Nakamura.');
    assert.equal(
      merge(' Naka mora, press 1 or 22!', ' Nakamura. Press one or twenty-two', 'Nakamura'),
      ' Nakamura. press 1 or 22!',
    );
  });

  it('replaces only the words that sound like the hotword in a part that differs', () => {
    assert.equal(merge(' Press 1 naka mora now', ' Press one Nakamura today', 'Nakamura'), ' Press 1 Nakamura now');
  });

  it('replaces all words beside which the text with hotwords has no others', () => {
    assert.equal(merge(' Posted on for yellow.', ' Posted on Forgejo.', 'Forgejo'), ' Posted on Forgejo.');
  });

  it('takes several hotwords, also of several words', () => {
    assert.equal(
      merge(
        ' 5 calls to inga borg alto from she von at 6.',
        ' Five calls to Ingeborg Aalto from Siobhan at six.',
        'Siobhan',
        'Ingeborg Aalto',
      ),
      ' 5 calls to Ingeborg Aalto from Siobhan at 6.',
    );
  });

  it('adds a hotword that replaces no word', () => {
    assert.equal(merge(' We met there at 2.', ' We met Zoe there at two.', 'Zoe'), ' We met Zoe there at 2.');
  });

  it('changes nothing if the hotword is in both texts or in none', () => {
    assert.equal(merge(' Press 1, Zoe.', ' Press one, Zoe.', 'Zoe'), ' Press 1, Zoe.');
    assert.equal(merge(' Press 1.', ' Press one.', 'Nakamura'), ' Press 1.');
    assert.equal(merge(' Press 1.', '', 'Nakamura'), ' Press 1.');
  });

  it('replaces characters of scripts without spaces', () => {
    assert.equal(merge('他在钟关村工作2年', '他在中关村工作两年', '中关村'), '他在中关村工作2年');
  });
});
