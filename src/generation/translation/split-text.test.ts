import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { measureCpuMs } from '../../../test/measure-cpu-ms.ts';
import { mixedText } from './__fixtures__/mixed-text.ts';
import { substituteKnownPieces } from './known-pieces.ts';
import { packSegments } from './pack-segments.ts';
import { findProtectedSpans } from './protected-spans.ts';
import { splitText } from './split-text.ts';

// Types of pieces: `sentence` is text to translate, `kept` stays unchanged. Types of packed segments: `segment` is
// translated by the model, `known` has a translation in the memory already, `kept` stays unchanged.
const split = (text: string, charactersMax = 400) => splitText(text, { locale: 'en', charactersMax });
const sentences = (text: string, charactersMax?: number): string[] =>
  split(text, charactersMax)
    .filter(({ type }) => type === 'sentence')
    .map((piece) => piece.text);
const joined = (pieces: readonly { readonly text: string }[]): string => pieces.map(({ text }) => text).join('');

describe('splitText', () => {
  it('returns pieces that join to the original text', () => {
    fc.assert(
      fc.property(mixedText, fc.integer({ min: 1, max: 80 }), (text, charactersMax) => {
        const pieces = split(text, charactersMax);
        assert.equal(joined(pieces), text);
        assert.equal(joined(packSegments(pieces, { charactersMax })), text);
      }),
      { numRuns: scalePropertyRuns(500) },
    );
  });

  it('returns trimmed sentences without line breaks', () => {
    fc.assert(
      fc.property(mixedText, (text) => {
        for (const sentence of sentences(text)) {
          assert.equal(sentence, sentence.trim());
          assert.ok(!/[\r\n]/.test(sentence), sentence);
        }
      }),
    );
  });

  it('splits by the rules of the language, and never inside a URL or code', () => {
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

  it('keeps marks and indentation of lists, headings and quotations', () => {
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

  it('keeps fenced code, even unclosed, and lines without words', () => {
    assert.deepEqual(sentences('A.\n```js\nlet b = "C.";\n```\nD.\n---\n12:30\n~~~\nE.'), ['A.', 'D.']);
    assert.deepEqual(sentences('```\n~~~\n``` x\n````\nA.'), ['A.']);
    assert.deepEqual(sentences('https://a.example/b?c=d\n{name} %s <br/>\n`only code`'), []);
  });

  it('keeps fenced code in quotations and list items, but not a line that starts with inline code', () => {
    assert.deepEqual(sentences('> ```\n> B c.\n> ```\n> D.'), ['D.']);
    assert.deepEqual(sentences('- ```js\n  B c.\n  ```\n- D.'), ['D.']);
    assert.deepEqual(sentences('> ~~~\n> B c.\nD.'), ['D.']);
    assert.deepEqual(sentences('```a``` is code.\nD.'), ['```a``` is code.', 'D.']);
  });

  it('keeps tabs and runs of spaces outside protected parts', () => {
    assert.deepEqual(
      split('Name\tTown  of it\nA `b  c` d').map(({ text }) => text),
      ['Name', '\t', 'Town', '  ', 'of it', '\n', 'A `b  c` d'],
    );
  });

  it('marks cuts inside words and numbers, and does not cut a number at its comma or colon', () => {
    const cuts = (text: string, charactersMax: number): (string | true)[] =>
      split(text, charactersMax).flatMap((piece) =>
        piece.type === 'sentence' && piece.continues ? [piece.text, true] : [piece.text],
      );
    assert.deepEqual(cuts('about x128,236 at 20:30h', 16), ['about x128,236', ' ', 'at 20:30h']);
    assert.deepEqual(cuts('abcdefgh', 5), ['abcde', 'fgh', true]);
    assert.deepEqual(cuts('猫在睡觉，狗在睡觉吗', 5), ['猫在睡觉，', '狗在睡觉吗']);
    assert.deepEqual(cuts('猫在睡觉狗在睡觉', 5), ['猫在睡觉狗', '在睡觉']);
  });

  it('cuts a long sentence at a clause or a word, never in a protected part', () => {
    assert.deepEqual(sentences('one two, three four five', 12), ['one two,', 'three four', 'five']);
    assert.deepEqual(sentences('see https://a.example/long/path here', 10), ['see', 'here']);
    assert.deepEqual(sentences('𝒂𝒃𝒄𝒅', 3), ['𝒂𝒃', '𝒄𝒅']);
    const cutPieces = split('awww.b{{ x }}', 1).map(({ text }) => text);
    assert.deepEqual(cutPieces, [...'awww.b', '{{ x }}'], 'an address does not begin where a word is cut');
    fc.assert(
      fc.property(mixedText, fc.integer({ min: 1, max: 40 }), (text, charactersMax) => {
        for (const line of text.split(/[\r\n]+/)) {
          const pieces = split(line, charactersMax);
          for (const { start, end } of findProtectedSpans(line)) {
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

describe('packed segments', () => {
  const packed = (text: string, charactersMax: number, known: Record<string, string> = {}): string[] =>
    packSegments(
      substituteKnownPieces(split(text), (each) => known[each]),
      { charactersMax },
    ).map(({ type, text: each }) => `${type}:${each}`);

  it('join sentences separated by at most one space, up to the limit', () => {
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

  it('leave out the longest known sequences of a line, with or without its marks', () => {
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

  it('take linear time to look up', () => {
    const packText = () => assert.ok(packed('A b. '.repeat(4_000), 20, { 'Z z.': 'x' }).length > 1_000);
    assert.ok(measureCpuMs(packText) < 3_000);
  });

  it('leave out known sentences', () => {
    assert.deepEqual(packed('A b. C d. E f.', 99, { 'C d.': 'x' }), [
      'segment:A b.',
      'kept: ',
      'known:C d.',
      'kept: ',
      'segment:E f.',
    ]);
  });
});
