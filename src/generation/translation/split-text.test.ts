import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cpuMsOf } from '../../../test/cpu-ms.ts';
import { mixedText } from './__fixtures__/mixed-text.ts';
import { withKnownRuns } from './known-runs.ts';
import { pack } from './pack.ts';
import { protectedSpans } from './protected-spans.ts';
import { splitText } from './split-text.ts';

const split = (text: string, charactersMax = 400) => splitText(text, { locale: 'en', charactersMax });
const sentences = (text: string, charactersMax?: number): string[] =>
  split(text, charactersMax)
    .filter(({ type }) => type === 'sentence')
    .map((piece) => piece.text);
const joined = (pieces: readonly { readonly text: string }[]): string => pieces.map(({ text }) => text).join('');

describe('a text in sentences', () => {
  it('is the text again when they are put together, whatever it is', () => {
    fc.assert(
      fc.property(mixedText, fc.integer({ min: 1, max: 80 }), (text, charactersMax) => {
        const pieces = split(text, charactersMax);
        assert.equal(joined(pieces), text);
        assert.equal(joined(pack(pieces, { charactersMax })), text);
      }),
      { numRuns: 500 },
    );
  });

  it('has no line break in a sentence, and no blank at its ends', () => {
    fc.assert(
      fc.property(mixedText, (text) => {
        for (const sentence of sentences(text)) {
          assert.equal(sentence, sentence.trim());
          assert.ok(!/[\r\n]/.test(sentence), sentence);
        }
      }),
    );
  });

  it('ends sentences where the language does, and never inside an address or code', () => {
    assert.deepEqual(sentences('One is here. Two is not! 「三」です。四です。'), [
      'One is here.',
      'Two is not!',
      '「三」です。',
      '四です。',
    ]);
    assert.deepEqual(sentences('See https://a.example/x. Y? and `a. B` now.'), [
      'See https://a.example/x.',
      'Y?',
      'and `a. B` now.',
    ]);
    assert.deepEqual(sentences('Run `one. Two. Three` now.'), ['Run `one. Two. Three` now.']);
  });

  it('keeps lists, headings, quotations and their indents as they are', () => {
    assert.deepEqual(
      split('# Title\n\n  - one\n  2) two\n> three\t\n').map(({ type, text }) => [type, text]),
      [
        ['kept', '# '],
        ['sentence', 'Title'],
        ['kept', '\n\n  - '],
        ['sentence', 'one'],
        ['kept', '\n  2) '],
        ['sentence', 'two'],
        ['kept', '\n> '],
        ['sentence', 'three'],
        ['kept', '\t\n'],
      ],
    );
  });

  it('keeps fenced code, also where the fence is never closed, and lines without a word', () => {
    assert.deepEqual(sentences('A.\n```js\nlet b = "C.";\n```\nD.\n---\n12:30\n~~~\nE.'), ['A.', 'D.']);
    assert.deepEqual(sentences('```\n~~~\n``` x\n````\nA.'), ['A.']);
    assert.deepEqual(sentences('https://a.example/b?c=d\n{name} %s <br/>\n`only code`'), []);
  });

  it('keeps fenced code of a quotation and of a list item, and a line that only begins with code', () => {
    assert.deepEqual(sentences('> ```\n> B c.\n> ```\n> D.'), ['D.']);
    assert.deepEqual(sentences('- ```js\n  B c.\n  ```\n- D.'), ['D.']);
    assert.deepEqual(sentences('> ~~~\n> B c.\nD.'), ['D.']);
    assert.deepEqual(sentences('```a``` is code.\nD.'), ['```a``` is code.', 'D.']);
  });

  it('keeps tabs and runs of blanks inside a line, those of a protected part excepted', () => {
    assert.deepEqual(
      split('Name\tTown  of it\nA `b  c` d').map(({ text }) => text),
      ['Name', '\t', 'Town', '  ', 'of it', '\n', 'A `b  c` d'],
    );
  });

  it('tells where a word or a number was cut, and cuts none at its own comma or colon', () => {
    const cuts = (text: string, charactersMax: number): (string | true)[] =>
      split(text, charactersMax).flatMap((piece) =>
        piece.type === 'sentence' && piece.continues ? [piece.text, true] : [piece.text],
      );
    assert.deepEqual(cuts('about x128,236 at 20:30h', 16), ['about x128,236', ' ', 'at 20:30h']);
    assert.deepEqual(cuts('abcdefgh', 5), ['abcde', 'fgh', true]);
    assert.deepEqual(cuts('猫在睡觉，狗在睡觉吗', 5), ['猫在睡觉，', '狗在睡觉吗']);
    assert.deepEqual(cuts('猫在睡觉狗在睡觉', 5), ['猫在睡觉狗', '在睡觉']);
  });

  it('cuts a sentence that is too long at a clause, else at a word, never in a protected part', () => {
    assert.deepEqual(sentences('one two, three four five', 12), ['one two,', 'three four', 'five']);
    assert.deepEqual(sentences('see https://a.example/long/path here', 10), ['see', 'here']);
    assert.deepEqual(sentences('𝒂𝒃𝒄𝒅', 3), ['𝒂𝒃', '𝒄𝒅']);
    const unlike = split('awww.b{{ x }}', 1).map(({ text }) => text);
    assert.deepEqual(unlike, [...'awww.b', '{{ x }}'], 'an address does not begin where a word is cut');
    fc.assert(
      fc.property(mixedText, fc.integer({ min: 1, max: 40 }), (text, charactersMax) => {
        for (const line of text.split(/[\r\n]+/)) {
          const pieces = split(line, charactersMax);
          for (const { start, end } of protectedSpans(line)) {
            let at = 0;
            for (const piece of pieces) {
              at += piece.text.length;
              assert.ok(at <= start || at >= end, `${line} is cut at ${at}`);
            }
          }
        }
      }),
    );
  });
});

describe('sentences packed', () => {
  const packed = (text: string, charactersMax: number, known: Record<string, string> = {}): string[] =>
    pack(
      withKnownRuns(split(text), (each) => known[each]),
      { charactersMax },
    ).map(({ type, text: each }) => `${type}:${each}`);

  it('go together while one blank or none is between them, up to the limit', () => {
    assert.deepEqual(packed('A b. C d. E f.', 9), ['segment:A b. C d.', 'kept: ', 'segment:E f.']);
    assert.deepEqual(packed('一。二。', 9), ['segment:一。二。']);
    assert.deepEqual(packed('A b.  C d.\nE f.', 99), [
      'segment:A b.',
      'kept:  ',
      'segment:C d.',
      'kept:\n',
      'segment:E f.',
    ]);
  });

  it('leave out the longest runs of a line that are known, with its beginning or without', () => {
    const known = { 'A b. C d.': 'x', 'A b.': 'y', '- A b. E f.': 'z', 'G h. A b. C d.': 'w' };
    assert.deepEqual(packed('- A b. C d. E f.\n- A b. E f.\n> A b. C d.\t\nG h. A b. C d.', 99, known), [
      'kept:- ',
      'known:A b. C d.',
      'kept: ',
      'segment:E f.',
      'kept:\n',
      'known:- A b. E f.',
      'kept:\n',
      'kept:> ',
      'known:A b. C d.',
      'kept:\t\n',
      'known:G h. A b. C d.',
    ]);
  });

  it('are looked up in time that grows with the text', () => {
    const look = () => assert.ok(packed('A b. '.repeat(4_000), 20, { 'Z z.': 'x' }).length > 1_000);
    assert.ok(cpuMsOf(look) < 3_000);
  });

  it('leave out what is known', () => {
    assert.deepEqual(packed('A b. C d. E f.', 99, { 'C d.': 'x' }), [
      'segment:A b.',
      'kept: ',
      'known:C d.',
      'kept: ',
      'segment:E f.',
    ]);
  });
});
