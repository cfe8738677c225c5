import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { createTestDocx, createTestZip } from './__fixtures__/test-zip.ts';
import { readDocument } from './read-document.ts';

const fixture = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`./__fixtures__/${name}`, import.meta.url)));

const read = async (name: string, content: string | Uint8Array, textBytesMax = 1e6): Promise<string> => {
  const result = await readDocument(new Uint8Array(Buffer.from(content)), { name, textBytesMax });
  if (result.type === 'failed') return result.reason;
  const text = Buffer.from(result.text).toString();
  assert.equal(result.chars, text.length);
  return `${result.kind}: ${text}`;
};

describe('readDocument on files of other programs', () => {
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
    test(`reads ${name} with its headings, lists and tables`, async () => {
      assert.equal(await read(name, fixture(name)), `${name.split('.')[1]}: ${lines.join('\n')}`);
      // The bytes determine the format, not the name.
      assert.equal(await read('anything', fixture(name)), `${name.split('.')[1]}: ${lines.join('\n')}`);
    });
  }

  for (const [name, reason] of [
    ['locked.pdf', 'The file is protected by a password.'],
    ['picture.pdf', 'The file has no text: its pages are images or empty.'],
    ['foreign-font.pdf', 'The file uses fonts with character maps that are not embedded (UniGB-UCS2-H).'],
  ] as const) {
    test(`returns the reason why ${name} has no text`, async () =>
      assert.equal(await read(name, fixture(name)), reason));
  }
});

describe('readDocument on HTML', () => {
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
    ['preformatted lines', '<pre>a\n  b</pre>', 'a\n  b'],
    [
      'text without scripts, styles and comments',
      '<style>x</style><script>y()</script><!-- z --><p>a</p><svg><text>t</text></svg>',
      'a',
    ],
    [
      'text without hidden elements',
      '<p hidden>x</p><div style="color:red; display: none">y<p>z</p></div><p>a</p>',
      'a',
    ],
    [
      'text without navigation',
      '<title>T</title><nav>x</nav><div role="navigation">y</div><div class="navheader">z</div><p class="navy">a</p>',
      'T\n\na',
    ],
    ['navigation where a page has nothing else', '<title>T</title><nav><a>x</a></nav>', 'T\nx'],
    [
      'text without fetched resources',
      '<img src="https://example.org/a.png"><iframe src="file:///etc/passwd"></iframe><p>a</p>',
      'a',
    ],
  ] as const) {
    test(`returns ${what}`, async () => assert.equal((await read('a.html', html)).trimEnd(), `html: ${text}`));
  }

  test('detects a page by its beginning and uses the encoding that it declares', async () => {
    const page = Buffer.concat([Buffer.from('<!DOCTYPE html><meta charset="gb2312"><p>'), Buffer.from([0xd6, 0xd0])]);
    assert.equal(await read('a', page), 'html: 中');
  });
});

describe('readDocument on plain text', () => {
  for (const [name, content, kind] of [
    ['a.md', '# A\n- b', 'markdown'],
    ['a.CSV', 'a,b\n"1\n2",c', 'csv'],
    ['a.jsonl', '{"a": 1}', 'json'],
    ['a', 'PK is how it begins', 'text'],
    ['b.txt', 'BM, GIF8, RIFF: all of these are letters', 'text'],
    ['c.txt', '%PDF-x is how others begin, and this is in the middle %PDF-1.7'.slice(1), 'text'],
  ] as const) {
    test(`returns ${name} unchanged, as ${kind}`, async () =>
      assert.equal(await read(name, content), `${kind}: ${content}`));
  }

  test('never truncates a text', async () => {
    assert.equal(await read('a.txt', 'é'.repeat(50), 100), `text: ${'é'.repeat(50)}`);
    assert.equal(await read('a.txt', 'é'.repeat(51), 100), 'The file has more than 100 bytes of text.');
  });

  test('removes control characters and replaces lone surrogates', async () => {
    assert.equal(await read('a.txt', 'a\u0007b\u001b[31mc\td'), 'text: ab[31mc\td');
    assert.equal(await read('a.html', '<p>a&#xd800;b'), 'html: a\ufffdb');
  });
});

describe('readDocument refuses', () => {
  const laughs = Array.from({ length: 9 }, (_, at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`).join('');
  for (const [what, name, content, expectedReason] of [
    ['an empty file', 'a.txt', '', /^The file is empty\.$/],
    ['whitespace', 'a.txt', ' \n\t\n', /has no text/],
    ['bytes that are not text', 'a.bin', '\0\x01', /neither text nor in a supported format/],
    [
      'a text with the extension of a document',
      'a.docx',
      'just words',
      /is named \.docx, but does not have this format/,
    ],
    ['a picture', 'a.png', Uint8Array.of(0x89, 0x50, 0x4e, 0x47), /a picture \(PNG\); this format is not supported/],
    ['an old office file', 'a.doc', Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1), /old office format/],
    ['an archive', 'a.docx', createTestZip([{ name: 'x', content: 'x' }]), /archive without a supported document/],
    ['half a document', 'a.docx', fixture('report.docx').subarray(0, 9_000), /is damaged/],
    ['elements nested without limit', 'a.html', '<div>'.repeat(5_001), /more than 5000 nested elements/],
    ['a PDF without its parts', 'a.pdf', '%PDF-1.7\n', /damaged/],
  ] as const) {
    test(`${what}, and names the reason`, async () => assert.match(await read(name, content), expectedReason));
  }

  test('does not expand an entity that a file declares', async () => {
    const bomb = `<?xml version="1.0"?><!DOCTYPE d [<!ENTITY e0 "ha">${laughs}]>`;
    const body = '<w:document><w:body><w:p><w:r><w:t>&e9;</w:t></w:r></w:p></w:body></w:document>';
    assert.equal(await read('a.docx', createTestDocx(bomb + body)), 'docx: &e9;');
  });

  test('does not read a file that an entity names', async () => {
    const xml = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><w:p><w:r><w:t>a&x;</w:t></w:r></w:p>';
    assert.equal(await read('a.docx', createTestDocx(xml)), 'docx: a&x;');
  });
});
