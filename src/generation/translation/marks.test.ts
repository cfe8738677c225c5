import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cpuMsOf } from '../../../test/cpu-ms.ts';
import { mixedText } from './__fixtures__/mixed-text.ts';
import { mark, unmark, unmarkWhatIsThere } from './marks.ts';
import { protectedSpans } from './protected-spans.ts';

const spansOf = (text: string): string[] => protectedSpans(text).map(({ start, end }) => text.slice(start, end));

describe('protected parts', () => {
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
  ] as const)
    it(`of ${JSON.stringify(text)}`, () => assert.deepEqual(spansOf(text), [...spans]));

  it('take time that grows with the text', () => {
    for (const unit of ['<a ', '<a "', '<a "" \'', '{', '%(', '`', 'a@', 'http://', '&', '<!--', '[1']) {
      const text = unit.repeat(20_000);
      assert.ok(cpuMsOf(() => protectedSpans(text)) < 2_000, unit);
    }
  });
});

describe('marks', () => {
  it('stand for protected parts, equal ones for equal ones, and the text’s own marks are protected too', () => {
    const marked = mark('{a} and %s, {a} as in [1]');
    assert.equal(marked.text, '[1] and [2], [1] as in [3]');
    assert.deepEqual(marked.originals, ['{a}', '%s', '[1]']);
    assert.equal(unmark('[3] [2] [1] [1]', marked), '[1] %s {a} {a}');
  });

  it('have to be there as often as before', () => {
    const marked = mark('{a} and {a} and {b}');
    for (const broken of ['[1] [2]', '[1] [1] [1] [2]', '[1] [1] [2] [3]', '', '1 1 2'])
      assert.equal(unmark(broken, marked), undefined, broken);
    assert.equal(unmarkWhatIsThere('[1] [7]', marked), '{a} [7]');
  });

  it('of tags have to be closed after they are opened', () => {
    const marked = mark('<b>a</b> <i>c</i><br>');
    for (const broken of ['[2]a[1] [3]c[4][5]', '[1]a[3]c[2][4][5]'])
      assert.equal(unmark(broken, marked), undefined, broken);
    assert.equal(unmark('[5][3]c[4] [1]a[2]', marked), '<br><i>c</i> <b>a</b>');
  });

  it('of tags lose the blanks that the model put between them and what they enclose', () => {
    const marked = mark('Click <b>Save</b> now.');
    assert.equal(unmark('点击 [1] 保存 [2]。', marked), '点击 <b>保存</b>。');
    assert.equal(unmark('[1] a [2]', mark('<i> a </i>')), '<i> a </i>');
  });

  it('bring the text back, and survive whatever a translation does around them', () => {
    fc.assert(
      fc.property(mixedText, fc.func(fc.stringMatching(/^[a-z ]{0,8}$/)), fc.boolean(), (text, other, isReversed) => {
        const marked = mark(text);
        assert.equal(marked.parts.map((part) => part.text).join(''), text);
        const words = marked.text.split(/(\[\d+\])/).map((word) => (/^\[\d+\]$/.test(word) ? word : other(word)));
        const restored = unmark((isReversed && !text.includes('</') ? words.toReversed() : words).join(''), marked);
        assert.ok(restored !== undefined);
        const kept = marked.parts.filter((part) => part.isProtected).map((part) => part.text);
        assert.ok(restored.length >= kept.join('').length);
        for (const part of kept) assert.ok(restored.includes(part), part);
      }),
      { numRuns: 300 },
    );
  });
});
