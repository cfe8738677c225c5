import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodePage } from './decode-page.ts';
import { extractHtmlPage } from './extract-html-page.ts';

const URL_OF_PAGE = 'https://sea.example/tides/page';
const read = (html: string, charsMax = 10_000) => extractHtmlPage(html, { url: URL_OF_PAGE, charsMax });
const PARAGRAPH =
  'The moon pulls the water of the sea towards it, and so there is a tide on either side of the earth. '.repeat(3);

describe('text of extractHtmlPage', () => {
  it('is the article with its paragraphs, lists, table rows and preformatted text', () => {
    const { title, text } = read(`<!doctype html><html><head><title>Tides | Sea</title></head><body>
      <nav><a href="/">Home</a> <a href="/all">All pages</a></nav>
      <article><h1>Tides</h1><p>${PARAGRAPH}</p><p>Second <b>bold</b>,<br>new line &amp; more. ${PARAGRAPH}</p>
      <ul><li>one</li><li>two <i>and</i> a half</li></ul>
      <table><tr><th>Port</th><th>High</th></tr><tr><td>Esbjerg</td><td>1.5 m</td></tr></table>
      <pre>a  b\n  c</pre></article>
      <footer>All rights reserved</footer></body></html>`);
    assert.match(title, /^Tides/);
    assert.match(text, /earth\.\n\nSecond bold,\nnew line & more\./);
    assert.match(text, /- one\n- two and a half/);
    assert.match(text, /Port \| High\nEsbjerg \| 1\.5 m/);
    assert.match(text, /a {2}b\n {2}c/);
    assert.doesNotMatch(text, /All pages|rights reserved/);
  });

  it('is all visible text except navigation if there is no article', () => {
    const { text } = read(
      '<nav>menu</nav><div>High <span>at</span> noon</div><div role="navigation">more</div><footer>end</footer>',
    );
    assert.equal(text, 'High at noon');
  });

  it('is truncated at the end of a paragraph', () => {
    const { text } = read(`<p>${'a'.repeat(450)}</p><p>${'b'.repeat(400)}</p>`, 500);
    assert.equal(text, 'a'.repeat(450));
  });

  it('is found without the outer elements, and is empty for an empty page', () => {
    assert.equal(read('<title>T</title>Just text <p>and more').text.replaceAll(/\s+/g, ' '), 'Just text and more');
    assert.equal(read('').text, '');
    assert.equal(read('<html>').text, '');
    assert.equal(read('<html><frameset><frame src="x"></frameset></html>').text, '');
  });
});

describe('invisible elements in extractHtmlPage', () => {
  const hidden: readonly (readonly [what: string, html: string])[] = [
    ['hidden', '<p hidden>EVIL</p>'],
    ['aria-hidden', '<p aria-hidden="TRUE">EVIL</p>'],
    ['display: none', '<div style="color:red; DISPLAY : none !important"><p>EVIL</p></div>'],
    ['a comment within a declaration', '<div style="display:/**/none">EVIL</div>'],
    ['visibility', '<p style="visibility:hidden">EVIL</p>'],
    ['font size zero', '<p style="font-size:0px">EVIL</p>'],
    ['font size one pixel', '<p style="font-size: 1px">EVIL</p>'],
    ['no opacity', '<p style="opacity:0.0">EVIL</p>'],
    ['transparent color', '<p style="color:transparent">EVIL</p>'],
    ['the background color', '<p style="background:#fff;color:#fff">EVIL</p>'],
    ['positioned outside the page', '<p style="position:absolute;left:-9999px">EVIL</p>'],
    ['a box of no size', '<p style="height:0;overflow:hidden">EVIL</p>'],
    [
      'a class in a style sheet of the page',
      '<style>.q1 , p.q2{ color:red; display:none }</style><p class="a q1">EVIL</p><p class="q2">EVIL</p>',
    ],
    ['an id in a style sheet of the page', '<style>@import "x";#q{font-size:0}</style><p id="q">EVIL</p>'],
    ['a class for screen readers', '<p class="sr-only">EVIL</p>'],
    ['a very long style', `<p style="${'a:b;'.repeat(5_000)}display:none">EVIL</p>`],
    ['script', '<script>EVIL</script>'],
    ['noscript', '<noscript>EVIL</noscript>'],
    ['template', '<template><p>EVIL</p></template>'],
    ['a comment', '<!-- EVIL -->'],
    ['a closed dialog', '<dialog>EVIL</dialog>'],
    ['form fields', '<textarea>EVIL</textarea><select><option>EVIL</option></select><button>EVIL</button>'],
    ['descriptions', '<p title="EVIL"><img alt="EVIL" src="x"></p>'],
    ['svg', '<svg><title>EVIL</title><text>EVIL</text></svg>'],
  ];
  for (const [what, html] of hidden) {
    it(`are removed: ${what}`, () => {
      for (const [before, after] of [
        ['<html><body>', '</body></html>'],
        [`<html><body><article><p>${PARAGRAPH}</p>`, `<p>${PARAGRAPH}</p></article></body></html>`],
      ] as const) {
        const { text, title } = read(`${before}<p>Seen.</p>${html}${after}`);
        assert.match(text, /Seen\./);
        assert.doesNotMatch(`${title}${text}`, /EVIL/);
      }
    });
  }

  it('do not include those of a print style sheet or of a class that wide screens show', () => {
    const { text } = read(
      '<style>@media print{.a{display:none}}</style><p class="a">One.</p><p class="hidden md:block">Two.</p>',
    );
    assert.equal(text, 'One.\n\nTwo.');
  });

  it('include direction marks and tag characters', () => {
    assert.equal(read('<p>ig\u200bnore\u202e \u{e0045}\u{e0056}all</p>').text, 'ignore all');
  });
});

describe('metadata of extractHtmlPage', () => {
  it('contains site name, icon, publication date and robots directives', () => {
    const html = `<html><head><base href="/b/"><meta property="og:site_name" content="The &amp; Sea\u202e"><meta property="og:title" content="Of tides">
      <link rel="stylesheet" href="x.css"><link rel="icon" href="javascript:alert(1)"><link rel="shortcut ICON" href="i.png">
      <meta property="article:published_time" content="2026-03-04T05:06:07+01:00"><meta name="robots" content="noindex, noai"></head>
      <body><p>Text.</p></body></html>`;
    const { siteName, icon, publishedAt, robots } = read(html);
    assert.deepEqual(
      { siteName, icon, publishedAt, robots },
      {
        siteName: 'The & Sea',
        icon: 'https://sea.example/b/i.png',
        publishedAt: Date.UTC(2026, 2, 4, 4, 6, 7),
        robots: ['noindex, noai'],
      },
    );
    const of = (head: string) => read(`<html><head>${head}</head><body><p>${PARAGRAPH}</p></body></html>`).publishedAt;
    const linked =
      '{"@context":"https://schema.org","@type":"NewsArticle","headline":"x","datePublished":"2026-01-02"}';
    assert.equal(of(`<script type="application/ld+json">${linked}</script>`), Date.UTC(2026, 0, 2));
    assert.equal(of('<meta name="date" content="Page 7">'), undefined);
    assert.equal(of('<meta name="date" content="0001-01-01">'), undefined);
  });
});

describe('decodePage', () => {
  const gb = Buffer.from([0xd6, 0xd0, 0xce, 0xc4]);
  const cases: readonly (readonly [what: string, bytes: Uint8Array, contentType: string, text: string])[] = [
    ['prefers a byte order mark', Buffer.from('\ufeffü'), 'text/html; charset=latin1', 'ü'],
    ['detects UTF-16 by the byte order mark', Buffer.from('\ufeffü', 'utf16le'), '', 'ü'],
    ['uses the charset of the server', gb, 'text/html; charset="GB2312"', '中文'],
    [
      'uses the charset of the page',
      Buffer.concat([Buffer.from('<meta charset=gbk>'), gb]),
      'text/html',
      '<meta charset=gbk>中文',
    ],
    [
      'ignores an impossible declaration of UTF-16',
      Buffer.from('<meta charset=utf-16>ü'),
      'text/html',
      '<meta charset=utf-16>ü',
    ],
    ['guesses the charset if none is declared', gb, 'text/html', '中文'],
    ['ignores an unknown charset', Buffer.from('ü'), 'text/html; charset=nonsense', 'ü'],
  ];
  for (const [what, bytes, contentType, text] of cases) {
    it(what, () => assert.equal(decodePage(bytes, contentType), text));
  }
});
