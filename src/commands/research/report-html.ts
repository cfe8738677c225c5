import { CUT_SHORT } from './cut-short.ts';
import { counted, countWords, formatCount, formatDay, formatElapsed, oneLine } from './describe.ts';
import { markup, NOTHING, type Markup } from './markup.ts';
import type { ResearchRecord } from './record.ts';
import { parseReport, type ReportBlock } from './report-blocks.ts';
import { createMarks, sourceList, type Marks } from './report-sources.ts';
import { REPORT_STYLE } from './report-style.ts';

/** The report as one page: no scripts, and nothing that is fetched from anywhere. Whatever was found or written is text. */
export function reportHtml(record: ResearchRecord): string {
  const { title, blocks } = parseReport(record.report);
  const marks = createMarks(record.references);
  const heading = oneLine(title ?? record.question);
  // Sources lead back to the marks, so these come first.
  const article = articleOf(blocks, marks);
  const page = markup`<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>${heading}</title>
<style>${STYLE}</style>
</head>
<body dir="auto">
${headerOf(record, heading)}
<div class="columns">
${contentsOf(blocks, record)}
<main>
<article>
${article}</article>
${sourceList(record.references, marks)}${workOf(record)}
</main>
</div>
</body>
</html>
`;
  return page.safe;
}

/** Ours, and the only part of a page that is not escaped. */
const STYLE: Markup = { safe: REPORT_STYLE };

function headerOf(record: ResearchRecord, heading: string): Markup {
  const question = oneLine(record.question);
  const facts = [
    counted(countWords(record.report), 'word'),
    counted(record.references.length, 'source'),
    `${counted(record.sitesFound, 'page')} found`,
    formatElapsed(record.elapsedMs),
  ];
  const day = new Date(record.startedAt).toISOString();
  return markup`<header class="head">
<p class="kind">Research report<time datetime="${day}">${formatDay(record.startedAt)}</time></p>
<h1>${heading}</h1>
${question === heading ? NOTHING : markup`<p class="question">${question}</p>\n`}<ul class="facts">${facts.map((fact) => markup`<li>${fact}</li>`)}</ul>
${record.isCutShort ? markup`<p class="note">${CUT_SHORT}</p>\n` : NOTHING}</header>`;
}

const sectionId = (at: number): string => `section-${at + 1}`;

function contentsOf(blocks: readonly ReportBlock[], { references }: ResearchRecord): Markup {
  const sections = blocks.flatMap((block, at) =>
    block.type === 'heading' && block.level === 2
      ? [markup`<li><a href="#${sectionId(at)}">${oneLine(block.text)}</a></li>\n`]
      : [],
  );
  const appendices = [
    ...(references.length > 0 ? [markup`<li><a href="#sources">Sources</a></li>\n`] : []),
    markup`<li><a href="#work">How it was looked into</a></li>\n`,
  ];
  return markup`<nav class="contents" aria-label="Contents">
<p>Contents</p>
<ol>
${sections}</ol>
<ol>
${appendices}</ol>
</nav>`;
}

function articleOf(blocks: readonly ReportBlock[], marks: Marks): Markup {
  const parts = blocks.map((block, at) => {
    if (block.type === 'paragraph') {
      const pieces = block.pieces.map((piece) =>
        piece.type === 'text' ? markup`${piece.text}` : marks.link(piece.index),
      );
      return markup`<p>${pieces}</p>\n`;
    }
    const text = oneLine(block.text);
    if (block.type === 'remark') return markup`<p class="remark">${text}</p>\n`;
    if (block.level === 2) return markup`<h2 id="${sectionId(at)}">${text}</h2>\n`;
    return block.level === 3 ? markup`<h3>${text}</h3>\n` : markup`<h4>${text}</h4>\n`;
  });
  return markup`${parts}`;
}

function workOf(record: ResearchRecord): Markup {
  const { askedBack, answer, queries, model, inputTokens, outputTokens } = record;
  const searches = queries.map(({ query, goal }) => {
    const why = goal === '' ? NOTHING : markup`<span>${oneLine(goal)}</span>`;
    return markup`<li><q>${oneLine(query)}</q>${why}</li>\n`;
  });
  const tokens = `${formatCount(inputTokens)} tokens read and ${formatCount(outputTokens)} written`;
  const rows = [
    markup`<dt>Asked back</dt><dd>${oneLine(askedBack)}</dd>\n`,
    markup`<dt>Answer</dt><dd>${oneLine(answer)}</dd>\n`,
    ...(searches.length > 0 ? [markup`<dt>Searched for</dt><dd><ol class="queries">\n${searches}</ol></dd>\n`] : []),
    markup`<dt>Model</dt><dd>${oneLine(model)}, ${tokens}</dd>\n`,
  ];
  return markup`<section class="work" id="work">
<h2>How it was looked into</h2>
<dl>
${rows}</dl>
</section>`;
}
