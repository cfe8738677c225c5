import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { measureCpuMs } from '../../../test/measure-cpu-ms.ts';
import { mixedText } from './__fixtures__/mixed-text.ts';
import { markProtected, restoreMarks, restoreAvailableMarks } from './marks.ts';
import { findProtectedSpans } from './protected-spans.ts';

const listProtected = (text: string): string[] =>
  findProtectedSpans(text).map(({ start, end }) => text.slice(start, end));

describe('findProtectedSpans', () => {
  for (const [text, spans] of [
    ['Run `npm install` and ``no``.', ['`npm install`', '`no`']],
    [
      'Dear {name}, {{ user.name }} has ${count} or #{n} of {0:d}.',
      ['{name}', '{{ user.name }}', '${count}', '#{n}', '{0:d}'],
    ],
    [
      '%s of %1$d, %.2f %(name)s %-5d %@ %lld 100% sure, 5 %d.',
      ['%s', '%1$d', '%.2f', '%(name)s', '%-5d', '%@', '%lld', '%d'],
    ],
    [
      '{} %zu %dms, %name% HTTPS://a.example/b, 50%di %lld%s',
      ['{}', '%zu', '%d', '%name%', 'HTTPS://a.example/b', '%lld', '%s'],
    ],
    ['%s%s%d%s', ['%s', '%s', '%d', '%s']],
    [
      '<b>bold</b> 1 < 2 > 0 <br/> <a href="x">y</a> <!-- c -->',
      ['<b>', '</b>', '<br/>', '<a href="x">', '</a>', '<!-- c -->'],
    ],
    ['A &amp; B &#39; &#x2F; R&D; ', ['&amp;', '&#39;', '&#x2F;']],
    [
      'See https://a.example/b?c=(d). Or www.b.example, (http://c.example/)',
      ['https://a.example/b?c=(d', 'www.b.example', 'http://c.example/'],
    ],
    ['请看https://a.example/b。', ['https://a.example/b']],
    ['Write to first.last+tag@mail.example.com!', ['first.last+tag@mail.example.com']],
    ['Frag müller@bücher.example oder 找me@example.com吧-', ['müller@bücher.example', 'me@example.com']],
    [
      `<a title="a > b" href='{x}'>x</a> <b class="c">"d" > 'e'</b> <i title="never closed>`,
      [`<a title="a > b" href='{x}'>`, '</a>', '<b class="c">', '</b>', '<i title="never closed>'],
    ],
    ['It costs $5 and $6, 50% off @home.', []],
    [
      'See [the `x` docs](https://a.example/b_(c) "Title"), ![a logo](l.png) or [this][ref 1].',
      ['[', '`x`', '](https://a.example/b_(c) "Title")', '![', '](l.png)', '[', '][ref 1]'],
    ],
    ['[![alt](i.png) text](u), `[a](b)` [x] (y) [z](not an address)', ['[', '![', '](i.png)', '](u)', '`[a](b)`']],
    ['[https://a.example](https://a.example)', ['[', 'https://a.example', '](https://a.example)']],
  ] as const)
    it(`finds the protected parts of ${JSON.stringify(text)}`, () => assert.deepEqual(listProtected(text), [...spans]));

  it('takes linear time', () => {
    for (const unit of [
      '<a ',
      '<a "',
      '<a "" \'',
      '{',
      '%(',
      '`',
      'a@',
      'http://',
      '&',
      '<!--',
      '[1',
      '[a](',
      '[](',
      '![[',
      '][',
      '[a](b "',
      '`a`[b](c) ',
    ]) {
      const text = unit.repeat(20_000);
      assert.ok(measureCpuMs(() => findProtectedSpans(text)) < 2_000, unit);
    }
  });
});

describe('marks', () => {
  it('replace protected parts, equal parts by equal marks, and protect brackets of the same form', () => {
    const marked = markProtected('{a} and %s, {a} as in [1]');
    assert.equal(marked.text, '[1] and [2], [1] as in [3]');
    assert.deepEqual(marked.originals, ['{a}', '%s', '[1]']);
    assert.equal(restoreMarks('[3] [2] [1] [1]', marked), '[1] %s {a} {a}');
  });

  it('must occur as often as before', () => {
    const marked = markProtected('{a} and {a} and {b}');
    for (const broken of ['[1] [2]', '[1] [1] [1] [2]', '[1] [1] [2] [3]', '', '1 1 2'])
      assert.equal(restoreMarks(broken, marked), undefined, broken);
    assert.equal(restoreAvailableMarks('[1] [7]', marked), '{a} [7]');
  });

  it('requires marks of closing tags to follow those of opening tags', () => {
    const marked = markProtected('<b>a</b> <i>c</i><br>');
    for (const broken of ['[2]a[1] [3]c[4][5]', '[1]a[3]c[2][4][5]'])
      assert.equal(restoreMarks(broken, marked), undefined, broken);
    assert.equal(restoreMarks('[5][3]c[4] [1]a[2]', marked), '<br><i>c</i> <b>a</b>');
  });

  it('removes spaces that the model inserted next to marks of tags', () => {
    const marked = markProtected('Click <b>Save</b> now.');
    assert.equal(restoreMarks('点击 [1] 保存 [2]。', marked), '点击 <b>保存</b>。');
    assert.equal(restoreMarks('[1] a [2]', markProtected('<i> a </i>')), '<i> a </i>');
  });

  it('require each link to surround a text, and to close in order', () => {
    const marked = markProtected('See [our page](https://a.example) and [![logo](l.png)](b).');
    assert.equal(marked.text, 'See [1]our page[2] and [3][4]logo[5][6].');
    for (const broken of [
      '[1][2] unsere Seite [3][4]Logo[5][6]',
      '[2]unsere Seite[1] [3][4]Logo[5][6]',
      '[1]unsere Seite[6] [3][4]Logo[5][2]',
      '[1]unsere Seite[2] [3][4]Logo[6][5]',
    ])
      assert.equal(restoreMarks(broken, marked), undefined, broken);
    assert.equal(
      restoreMarks('[3][4] Logo [5][6] und [1] unsere Seite [2].', marked),
      '[![Logo](l.png)](b) und [unsere Seite](https://a.example).',
    );
    assert.equal(
      restoreMarks('[ 1 ]unsere Seite[ 2 ], [3][4]Logo[5][6]', marked),
      '[unsere Seite](https://a.example), [![Logo](l.png)](b)',
    );
    const sameAddress = markProtected('[a](x) [b](x)');
    assert.equal(sameAddress.text, '[1]a[2] [3]b[4]');
  });

  it('restore the text, with any translation around them', () => {
    fc.assert(
      fc.property(mixedText, fc.func(fc.stringMatching(/^[a-z ]{0,8}$/)), fc.boolean(), (text, other, isReversed) => {
        const marked = markProtected(text);
        assert.equal(marked.parts.map((part) => part.text).join(''), text);
        const translateWord = (word: string): string => (/[\p{L}\p{N}]/u.test(word) ? `${other(word)}x` : other(word));
        const words = marked.text
          .split(/(\[\d+\])/)
          .map((word) => (/^\[\d+\]$/.test(word) ? word : translateWord(word)));
        const restored = restoreMarks(
          (isReversed && !text.includes('</') && marked.links.length === 0 ? words.toReversed() : words).join(''),
          marked,
        );
        assert.ok(restored !== undefined);
        const protectedParts = marked.parts.filter((part) => part.isProtected).map((part) => part.text);
        assert.ok(restored.length >= protectedParts.join('').length);
        for (const part of protectedParts) assert.ok(restored.includes(part), part);
      }),
      { numRuns: scalePropertyRuns(300) },
    );
  });
});
