import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResearchRecord } from './research-record.ts';
import { formatReportHtml } from './format-report-html.ts';
import { formatReportMarkdown } from './format-report-markdown.ts';
import { detectLanguageTag } from './report-labels.ts';

const HOSTILE = `"><script>alert('x')</script><img src=x onerror=alert(1)>&lt;\u202e`;
const hostile = (place: string): string => `${place}${HOSTILE}`;

const source = (index: number, url: string) => ({
  index,
  url,
  title: hostile('title'),
  description: hostile('about'),
  icon: 'https://icons.test/a.png',
});

const RECORD: ResearchRecord = {
  question: hostile('question'),
  clarifyingQuestion: hostile('asked'),
  answer: hostile('answer'),
  model: hostile('model'),
  startedAt: Date.parse('2026-07-01T12:00:00Z'),
  elapsedMs: 3_672_000,
  queries: [{ id: 1, query: hostile('query'), goal: hostile('goal') }],
  pagesFound: 61,
  report: `# ${hostile('Title')}\n\n## ${hostile('Section')}\n\n${hostile('Text')}[[1]][[1]] [a](javascript:alert(1)) ![b](https://pixel.test/b.png)[[3]][[4]][[99]]\n\n## Two`,
  references: [
    source(1, `https://a.test/x?q="><script>&b='`),
    source(2, 'javascript:alert(1)'),
    source(3, 'parley-index:notes/"><b>.md'),
    source(4, 'data:text/html,<script>alert(1)</script>'),
  ],
  inputTokens: 41_200,
  outputTokens: 6_100,
  isTruncated: false,
  language: 'en',
};

describe('HTML report', () => {
  const page = formatReportHtml(RECORD);
  const withoutStyle = page.replace(/<style>[^]*<\/style>/, '');

  it('escapes all texts', () => {
    const tags = new Set(withoutStyle.match(/<[a-z!][^\s>]*/gi));
    const expectedTags =
      '!doctype html head meta title style body header p time h1 ul li div nav ol a main article h2 sup section span dl dt dd q';
    assert.deepEqual(
      [...tags].filter((tag) => !expectedTags.split(' ').includes(tag.slice(1))),
      [],
    );
    assert.equal(page.includes('\u202e'), false);
    // No attribute value ends early: the text between the tags contains no character that starts or ends a tag.
    const text = withoutStyle.replaceAll(/<[a-z!/][^<>"]*(?:"[^"<>]*"[^<>"]*)*>/gi, '');
    assert.equal(/[<>"']/.test(text), false);
  });

  it('links to http(s) URLs and its own anchors only', () => {
    const links = [...withoutStyle.matchAll(/(?:href|src|action|data|content)="([^"]*)"/g)].map(
      ([, link = '']) => link,
    );
    const outward = links.filter((link) => !link.startsWith('#') && /[:/]/.test(link));
    assert.deepEqual(outward, ['https://a.test/x?q=%22%3E%3Cscript%3E&#38;b=%27']);
    const ids = new Set([...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
    for (const link of links.filter((each) => each.startsWith('#'))) assert.ok(ids.has(link.slice(1)), link);
  });

  it('loads no external resource and contains no script', () => {
    assert.match(
      page,
      /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline';/,
    );
    assert.equal(/@import|url\(|<link|<img|<script|<iframe/.test(page), false);
    assert.equal(page.includes('icons.test'), false);
  });

  it('links citation marks and sources in both directions, and keeps marks without a source as text', () => {
    assert.match(
      page,
      /<a href="#source-1" id="mark-1-1"[^>]*>1<\/a><\/sup><sup class="mark"><a href="#source-1" id="mark-1-2"/,
    );
    assert.match(
      page,
      /<li id="source-1">[^]*<a href="#mark-1-1"[^>]*>1<\/a> <a href="#mark-1-2"[^>]*>2<\/a>[^]*<li id="source-2">/,
    );
    assert.match(page, /\[\[99\]\]/);
  });

  it('shows question, date, statistics and contents', () => {
    assert.match(page, /<time datetime="2026-07-01T12:00:00\.000Z">1 July 2026<\/time>/);
    assert.match(page, /<li>\d+ words<\/li><li>4 sources<\/li><li>61 pages found<\/li><li>1 h 1 min<\/li>/);
    assert.match(page, /<a href="#section-3">Two<\/a><\/li>\n<\/ol>\n<ol>\n<li><a href="#sources">Sources<\/a>/);
    assert.match(page, /41,200 tokens read and 6,100 written/);
  });
});

describe('report in another language', () => {
  const chinese: ResearchRecord = {
    ...RECORD,
    question: '鲸鱼为什么唱歌？',
    report: '# 鲸歌\n\n## 声音\n\n鲸鱼用 52 赫兹唱歌 [[1]]。它们很大[[3]]。\n',
    references: [
      { index: 1, url: 'https://a.test/', title: '鲸', description: '', icon: '' },
      { index: 3, url: 'parley-index:b', title: '', description: '', icon: '' },
    ],
    isTruncated: true,
    language: 'zh',
  };

  it('uses the labels of its language', () => {
    const page = formatReportHtml(chinese).replace(/<style>[^]*<\/style>/, '');
    assert.match(page, /^<!doctype html>\n<html lang="zh">/);
    assert.match(page, />2026年7月1日<\/time>/);
    assert.match(page, /<li>16 字<\/li><li>2 个来源<\/li><li>找到 61 个页面<\/li><li>1 小时 1 分<\/li>/);
    assert.match(page, /读取 41,200 个 token，生成 6,100 个/);
    // The remaining Latin letters are not labels.
    const text = page
      .slice(page.indexOf('<body'))
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/(?:asked|answer|query|goal|model)&#34;.*/g, '');
    assert.deepEqual(
      text.match(/[A-Za-z]{2,}/g)?.filter((word) => !['token', 'https', 'test', 'parley', 'index'].includes(word)) ??
        [],
      [],
    );
    assert.doesNotMatch(page, / (?:aria-label|title)="[A-Z]/);
    assert.doesNotMatch(page.slice(page.indexOf('<body')), / lang=/);
    const markdown = formatReportMarkdown(chinese);
    assert.match(markdown, /^# 鲸歌\n\n\*\*问题：\*\* 鲸鱼为什么唱歌？\n/);
    assert.match(markdown, /\n## 来源\n\n1\. .*\n3\. <a id="source-3"><\/a>本地索引: parley-index:b\n$/);
  });

  it('declares its language, also if the labels are English', () => {
    for (const [language, lang] of [
      ['de', ' lang="de"'],
      [undefined, ' lang=""'],
      ['en', ''],
    ] as const) {
      const page = formatReportHtml({ ...RECORD, language });
      assert.match(page, /<html lang="en">/);
      for (const tag of ['h1', 'article', 'ol']) assert.ok(page.includes(`<${tag}${lang}>`), `${language} ${tag}`);
    }
  });

  it('detects the language of the text', async () => {
    assert.equal(await detectLanguageTag('# 鲸歌\n\n鲸鱼用 52 赫兹唱歌 [[1]]。'), 'zh');
    assert.equal(
      await detectLanguageTag(
        '# Wale\n\nDie Gesänge der Buckelwale verändern sich jedes Jahr, und niemand weiß genau, warum [[1]].',
      ),
      'de',
    );
    assert.equal(
      await detectLanguageTag(
        '# Whales\n\nThe songs of humpback whales change every year, and nobody knows exactly why [[1]].',
      ),
      'en',
    );
    assert.equal(await detectLanguageTag('# 1874\n'), undefined);
  });

  it('starts no line with a citation mark and omits empty contents', () => {
    const page = formatReportHtml({ ...chinese, report: 'Whales sing [[1]]. They are large [[3]].' });
    assert.match(page, /<p>Whales sing<sup class="mark">.*<\/sup>\. They are large<sup/);
    assert.doesNotMatch(page, /<ol[^>]*>\n<\/ol>/);
  });
});

describe('Markdown report', () => {
  const text = formatReportMarkdown(RECORD);

  it('contains no HTML except the anchors of its sources, and links to nothing else', () => {
    const bare = text.replaceAll(/\\[^\w\s]/g, '');
    assert.deepEqual(
      bare.match(/<(?!https:)[^>]*>/g),
      [1, 1, 2, 2, 3, 3, 4, 4].map((index, at) => (at % 2 ? '</a>' : `<a id="source-${index}">`)),
    );
    assert.deepEqual(bare.match(/\]\([^)]*\)/g), [
      '](#source-1)',
      '](#source-1)',
      '](#source-3)',
      '](#source-4)',
      `](<https://a.test/x?q=%22%3E%3Cscript%3E&b=%27>)`,
    ]);
    assert.ok(text.includes('\\[\\[99\\]\\]') && text.includes('!\\[b\\](https://pixel.test/b.png)'));
  });
});
