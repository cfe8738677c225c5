import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { makeDocx, makeZip } from './__fixtures__/make-zip.ts';
import { readDocument } from './read-document.ts';

const fixture = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`./__fixtures__/${name}`, import.meta.url)));

const read = async (name: string, content: string | Uint8Array, textBytesMax = 1e6): Promise<string> => {
  const found = await readDocument(new Uint8Array(Buffer.from(content)), { name, textBytesMax });
  if (found.type === 'failed') return found.reason;
  const text = Buffer.from(found.text).toString();
  assert.equal(found.chars, text.length);
  return `${found.kind}: ${text}`;
};

describe('documents as other programs make them', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    [
      'report.docx',
      [
        '# Quarterly report\n',
        'Revenue rose by 12 % – 收入增长。\n',
        '# Plan\n',
        '- hire two people',
        '- open an office',
        '1. first',
        '2. second\n',
        'City\tPeople',
        'Köln\t1\u202f087\u202f863\n',
        'Seen. ',
      ],
    ],
    [
      'sales.xlsx',
      [
        '# Sales',
        'Day\tItem\tPrice\tPaid',
        '2026-07-01\ttea and cake\t3.5\tTRUE',
        '2026-07-02 09:30:00\t绿茶\t12\tFALSE',
        '\t\t\t\t\tfar out\n',
        '# Empty\n',
        '# Notes',
        '\tsecond sheet\n',
      ],
    ],
    [
      'roadmap.pptx',
      [
        '# Slide 1\n',
        'Roadmap',
        'faster',
        'smaller\n',
        'Notes: speak slowly\n',
        '# Slide 2\n',
        'Figures\n',
        'Year\tSum',
        '2026\t42',
      ],
    ],
    [
      'book.epub',
      ['Chapter 1\n', '# Chapter 1\n', 'It began.\n', 'Chapter 2\n', '# Chapter 2\n', 'It ended & all was well.'],
    ],
    ['two-pages.pdf', ['First page: the answer is 42.', 'Second line\n', 'Second page']],
  ];
  for (const [name, lines] of cases) {
    test(`${name} is read with its headings, lists and tables`, async () => {
      assert.equal(await read(name, fixture(name)), `${name.split('.')[1]}: ${lines.join('\n')}`);
      // What it is stands in its bytes, not in its name.
      assert.equal(await read('anything', fixture(name)), `${name.split('.')[1]}: ${lines.join('\n')}`);
    });
  }

  for (const [name, reason] of [
    ['locked.pdf', 'The file is protected by a password.'],
    ['picture.pdf', 'The file has no text: its pages are pictures, or empty.'],
    [
      'foreign-font.pdf',
      'The file has fonts whose letters cannot be told without files that are not here (UniGB-UCS2-H).',
    ],
  ] as const) {
    test(`${name} has a reason instead of a text`, async () => assert.equal(await read(name, fixture(name)), reason));
  }
});

describe('a page', () => {
  for (const [what, html, text] of [
    ['headings and paragraphs', '<h1>A</h1><p>one\n two</p><p>three<br>four</p>', '# A\n\none two\n\nthree\nfour'],
    ['lists inside lists', '<ul><li>a<ol><li>b</li><li>c</li></ol></li><li>d</li></ul>', '- a\n  1. b\n  2. c\n- d'],
    [
      'tables',
      '<table><tr><th>a</th><th>b</th></tr><tr><td></td><td><p>c</p><p>d</p></td></tr></table>',
      'a\tb\n\tc d',
    ],
    ['entities', '<p>&lt;b&gt; &amp; &eacute; &#x4e2d;</p>', '<b> & é 中'],
    ['blanks between elements', '<p>a <b>b</b> <i>c</i></p>', 'a b c'],
    ['lines that were set', '<pre>a\n  b</pre>', 'a\n  b'],
    [
      'no scripts, styles and comments',
      '<style>x</style><script>y()</script><!-- z --><p>a</p><svg><text>t</text></svg>',
      'a',
    ],
    ['nothing hidden', '<p hidden>x</p><div style="color:red; display: none">y<p>z</p></div><p>a</p>', 'a'],
    ['nothing fetched', '<img src="https://example.org/a.png"><iframe src="file:///etc/passwd"></iframe><p>a</p>', 'a'],
  ] as const) {
    test(`gives its ${what}`, async () => assert.equal((await read('a.html', html)).trimEnd(), `html: ${text}`));
  }

  test('is one by its beginning, whatever its name, and is read as it says it is written', async () => {
    const page = Buffer.concat([Buffer.from('<!DOCTYPE html><meta charset="gb2312"><p>'), Buffer.from([0xd6, 0xd0])]);
    assert.equal(await read('a', page), 'html: 中');
  });
});

describe('a text', () => {
  for (const [name, content, kind] of [
    ['a.md', '# A\n- b', 'markdown'],
    ['a.CSV', 'a,b\n"1\n2",c', 'csv'],
    ['a.jsonl', '{"a": 1}', 'json'],
    ['a', 'PK is how it begins', 'text'],
    ['b.txt', 'BM, GIF8, RIFF: all of these are letters', 'text'],
    ['c.txt', '%PDF-x is how others begin, and this is in the middle %PDF-1.7'.slice(1), 'text'],
  ] as const) {
    test(`named ${name} is ${kind}, and as it stands`, async () =>
      assert.equal(await read(name, content), `${kind}: ${content}`));
  }

  test('is whole or refused', async () => {
    assert.equal(await read('a.txt', 'é'.repeat(50), 100), `text: ${'é'.repeat(50)}`);
    assert.equal(
      await read('a.txt', 'é'.repeat(51), 100),
      'The file has more text than the 100 bytes that may be read of one.',
    );
  });

  test('has no control characters, and no half ones', async () => {
    assert.equal(await read('a.txt', 'a\u0007b\u001b[31mc\td'), 'text: ab[31mc\td');
    assert.equal(await read('a.html', '<p>a&#xd800;b'), 'html: a\ufffdb');
  });
});

describe('what is refused', () => {
  const laughs = Array.from({ length: 9 }, (_, at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`).join('');
  for (const [what, name, content, said] of [
    ['nothing', 'a.txt', '', /^The file is empty\.$/],
    ['blanks', 'a.txt', ' \n\t\n', /has no text/],
    ['bytes that are no text', 'a.bin', '\0\x01', /no text, and of no kind/],
    ['a text that is named as a document', 'a.docx', 'just words', /is named \.docx and is none/],
    ['a picture', 'a.png', Uint8Array.of(0x89, 0x50, 0x4e, 0x47), /a picture \(PNG\), which is not read/],
    ['an old office file', 'a.doc', Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1), /old office format/],
    ['an archive', 'a.docx', makeZip([{ name: 'x', content: 'x' }]), /archive of other files/],
    ['half a document', 'a.docx', fixture('report.docx').subarray(0, 9_000), /is damaged/],
    ['elements without end', 'a.html', '<div>'.repeat(5_001), /more than 5000 elements inside each other/],
    ['a PDF without its parts', 'a.pdf', '%PDF-1.7\n', /damaged/],
  ] as const) {
    test(`${what}, with the reason`, async () => assert.match(await read(name, content), said));
  }

  test('an entity that a file declares stays a word', async () => {
    const bomb = `<?xml version="1.0"?><!DOCTYPE d [<!ENTITY e0 "ha">${laughs}]>`;
    const body = '<w:document><w:body><w:p><w:r><w:t>&e9;</w:t></w:r></w:p></w:body></w:document>';
    assert.equal(await read('a.docx', makeDocx(bomb + body)), 'docx: &e9;');
  });

  test('a file that an entity names is not read', async () => {
    const xml = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><w:p><w:r><w:t>a&x;</w:t></w:r></w:p>';
    assert.equal(await read('a.docx', makeDocx(xml)), 'docx: a&x;');
  });
});
