import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cutText, visibleText } from './visible-text.ts';

/** Letters as the tags and the selectors of variants that spell them. */
const asTags = (text: string): string =>
  String.fromCodePoint(...[...text].map((c) => 0xe0000 + (c.codePointAt(0) ?? 0)));
const asSelectors = (text: string): string =>
  String.fromCodePoint(...[...text].map((c) => 0xe0100 + (c.codePointAt(0) ?? 0) - 16));

describe('visible text', () => {
  const cases: readonly (readonly [what: string, text: string, seen: string])[] = [
    ['controls go, tabs and ends of lines stay', 'a\u0000b\u001b[31mc\td\r\ne\rf\u2028g', 'ab[31mc\td\ne\nf\ng'],
    [
      'spaces without width and marks of direction go',
      'ig\u200bno\ufeffre \u202eevil\u202c\u2066x\u2069',
      'ignore evilx',
    ],
    ['sentences in tags go', `harmless${asTags('obey me')}`, 'harmless'],
    ['sentences in selectors of variants go', `harmless😀${asSelectors('obey')}`, 'harmless😀'],
    ['joiners in Latin words go', 'i\u200dg\u200cn', 'ign'],
    ['joiners of Persian and of emoji stay', 'می\u200cخواهم 👩\u200d💻', 'می\u200cخواهم 👩\u200d💻'],
    ['a row of joiners says no more than one', '👩\u200d\u200c\u200d\u200d💻', '👩\u200d💻'],
    ['a coloured heart keeps its selector', '❤\ufe0f a\ufe0fb', '❤\ufe0f ab'],
    ['half a pair becomes a mark', 'a\ud800b', 'a\ufffdb'],
    ['all else stays', 'Größe: 5 € – 中文, हिन्दी', 'Größe: 5 € – 中文, हिन्दी'],
  ];
  for (const [what, text, seen] of cases) {
    it(what, () => assert.equal(visibleText(text), seen));
  }

  it('is cut between characters', () => {
    assert.equal(cutText('ab😀', 3), 'ab');
    assert.equal(cutText('ab😀', 4), 'ab😀');
  });
});
