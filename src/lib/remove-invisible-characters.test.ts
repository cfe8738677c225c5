import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { truncateText, removeInvisibleCharacters } from './remove-invisible-characters.ts';

/** Encode letters as tag characters and as variation selectors. */
const asTags = (text: string): string =>
  String.fromCodePoint(...[...text].map((c) => 0xe0000 + (c.codePointAt(0) ?? 0)));
const asSelectors = (text: string): string =>
  String.fromCodePoint(...[...text].map((c) => 0xe0100 + (c.codePointAt(0) ?? 0) - 16));

describe('removeInvisibleCharacters', () => {
  const cases: readonly (readonly [what: string, text: string, seen: string])[] = [
    [
      'removes control characters, keeps tabs and line breaks',
      'a\u0000b\u001b[31mc\td\r\ne\rf\u2028g',
      'ab[31mc\td\ne\nf\ng',
    ],
    [
      'removes zero-width spaces and direction marks',
      'ig\u200bno\ufeffre \u202eevil\u202c\u2066x\u2069',
      'ignore evilx',
    ],
    ['removes text in tag characters', `harmless${asTags('obey me')}`, 'harmless'],
    ['removes text in variation selectors', `harmless😀${asSelectors('obey')}`, 'harmless😀'],
    ['removes joiners in Latin words', 'i\u200dg\u200cn', 'ign'],
    ['keeps joiners in Persian words and emoji', 'می\u200cخواهم 👩\u200d💻', 'می\u200cخواهم 👩\u200d💻'],
    ['reduces consecutive joiners to one', '👩\u200d\u200c\u200d\u200d💻', '👩\u200d💻'],
    ['keeps the variation selector of a heart emoji', '❤\ufe0f a\ufe0fb', '❤\ufe0f ab'],
    ['replaces a lone surrogate', 'a\ud800b', 'a\ufffdb'],
    ['keeps other text', 'Größe: 5 € – 中文, हिन्दी', 'Größe: 5 € – 中文, हिन्दी'],
  ];
  for (const [behavior, text, visible] of cases) {
    it(behavior, () => assert.equal(removeInvisibleCharacters(text), visible));
  }

  it('truncateText never splits a surrogate pair', () => {
    assert.equal(truncateText('ab😀', 3), 'ab');
    assert.equal(truncateText('ab😀', 4), 'ab😀');
  });
});
