import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseResearchReport } from './parse-report.ts';
import { formatReportMarkdown } from './format-report-markdown.ts';

const text = (value: string) => ({ type: 'text', text: value });
const paragraph = (value: string) => ({ type: 'paragraph', pieces: [text(value)] });
const heading = (level: number, value: string) => ({ type: 'heading', level, text: value });

describe('parseReport', () => {
  it('parses title, sections, paragraphs and citation marks', () => {
    assert.deepEqual(parseResearchReport('# Title ##\n\nOne\ntwo.[[1]][[12]] Three.\n## A [[3]]\nFour.\n### B\n\n'), {
      title: 'Title',
      blocks: [
        {
          type: 'paragraph',
          pieces: [text('One two.'), { type: 'mark', index: 1 }, { type: 'mark', index: 12 }, text(' Three.')],
        },
        heading(2, 'A'),
        paragraph('Four.'),
        heading(3, 'B'),
      ],
    });
  });

  it('treats first-level headings as sections if there are several or text before them', () => {
    assert.deepEqual(parseResearchReport('# A\n\n# B\n\n## C'), {
      title: undefined,
      blocks: [heading(2, 'A'), heading(2, 'B'), heading(3, 'C')],
    });
    assert.deepEqual(parseResearchReport('One.\n\n# A'), {
      title: undefined,
      blocks: [paragraph('One.'), heading(2, 'A')],
    });
  });

  it('parses an italic paragraph as a remark', () => {
    assert.deepEqual(parseResearchReport('*Nothing more\nwas found.*').blocks, [
      { type: 'remark', text: 'Nothing more was found.' },
    ]);
    for (const line of ['*a* b *c*', '**a**', '* a *', '*a'])
      assert.deepEqual(parseResearchReport(line).blocks, [paragraph(line)]);
  });

  it('treats other Markdown as text', () => {
    for (const line of ['#5 is a number', '- a', '> b', '[[x]] [[]] [1]', '```', '| a |'])
      assert.deepEqual(parseResearchReport(line), { title: undefined, blocks: [paragraph(line)] });
    assert.deepEqual(parseResearchReport('# \n\u200b\n##\n'), { title: undefined, blocks: [] });
  });

  it('escapes the text in Markdown again', () => {
    const cases = [
      ['- a', '\\- a'],
      ['---', '\\---'],
      ['-5 degrees', '-5 degrees'],
      ['1. a', '1\\. a'],
      ['2026 was', '2026 was'],
      ['> b', '\\> b'],
      ['snake_case _it_ **x** `y` a\\b ~~z~~', 'snake_case \\_it\\_ \\*\\*x\\*\\* \\`y\\` a\\\\b \\~\\~z\\~\\~'],
      ['R&D &amp; &#60;', 'R&D \\&amp; \\&#60;'],
      ['a\n#hash', 'a #hash'],
      ['*All <b> of it.*', '*All \\<b\\> of it.*'],
    ] as const;
    for (const [report, written] of cases) {
      const markdown = formatReportMarkdown({
        question: 'Q',
        clarifyingQuestion: 'B',
        answer: 'A',
        model: 'm',
        startedAt: 0,
        elapsedMs: 0,
        queries: [],
        pagesFound: 0,
        report,
        references: [],
        inputTokens: 0,
        outputTokens: 0,
        isTruncated: false,
        language: 'en',
      });
      assert.equal(markdown.split('\n\n').at(-1), `${written}\n`);
    }
  });
});
