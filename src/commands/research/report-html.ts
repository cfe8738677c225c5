import { oneLine } from './describe.ts';
import { markup, NOTHING, type Markup } from './markup.ts';
import type { ResearchRecord } from './record.ts';
import { parseReport, type ReportBlock } from './report-blocks.ts';
import { createMarks, sourceList, type Marks } from './report-sources.ts';
import { REPORT_STYLE } from './report-style.ts';
import { type ReportWords, reportWords } from './report-words.ts';

/** The report as one page: no scripts, and nothing that is fetched from anywhere. Whatever was found or written is text. */
export function reportHtml(record: ResearchRecord): string {
  const { title, blocks } = parseReport(record.report);
  const words = reportWords(record.language);
  const marks = createMarks(record.references, words);
  const heading = oneLine(title ?? record.question);
  // Sources lead back to the marks, so these come first.
  const article = articleOf(blocks, marks);
  const page = markup`<!doctype html>
<html lang="${words.language}">
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
${headerOf(record, heading, words)}
<div class="columns">
${contentsOf(blocks, record, words)}
<main>
<article${languageOf(record, words)}>
${article}</article>
${sourceList(record.references, marks, words)}${workOf(record, words)}
</main>
</div>
</body>
</html>
`;
  return page.safe;
}

/** Ours, and the only part of a page that is not escaped. */
const STYLE: Markup = { safe: REPORT_STYLE };

function headerOf(record: ResearchRecord, heading: string, words: ReportWords): Markup {
  const question = oneLine(record.question);
  const facts = [
    words.length(record.report),
    words.sourceCount(record.references.length),
    words.pagesFound(record.sitesFound),
    words.elapsed(record.elapsedMs),
  ];
  const day = new Date(record.startedAt).toISOString();
  return markup`<header class="head">
<p class="kind">${words.kind}<time datetime="${day}">${words.day(record.startedAt)}</time></p>
<h1${languageOf(record, words)}>${heading}</h1>
${question === heading ? NOTHING : markup`<p class="question">${question}</p>\n`}<ul class="facts">${facts.map((fact) => markup`<li>${fact}</li>`)}</ul>
${record.isCutShort ? markup`<p class="note">${words.cutShort}</p>\n` : NOTHING}</header>`;
}

/** Of what is the report's own, where that is another language than the page's. */
const languageOf = ({ language }: ResearchRecord, words: ReportWords): Markup =>
  language === words.language ? NOTHING : markup` lang="${language ?? ''}"`;

const sectionId = (at: number): string => `section-${at + 1}`;

function contentsOf(blocks: readonly ReportBlock[], record: ResearchRecord, words: ReportWords): Markup {
  const sections = blocks.flatMap((block, at) =>
    block.type === 'heading' && block.level === 2
      ? [markup`<li><a href="#${sectionId(at)}">${oneLine(block.text)}</a></li>\n`]
      : [],
  );
  const appendices = [
    ...(record.references.length > 0 ? [markup`<li><a href="#sources">${words.sources}</a></li>\n`] : []),
    markup`<li><a href="#work">${words.work}</a></li>\n`,
  ];
  const list = markup`<ol${languageOf(record, words)}>
${sections}</ol>
`;
  return markup`<nav class="contents" aria-label="${words.contents}">
<p>${words.contents}</p>
${sections.length > 0 ? list : NOTHING}<ol>
${appendices}</ol>
</nav>`;
}

function articleOf(blocks: readonly ReportBlock[], marks: Marks): Markup {
  const parts = blocks.map((block, at) => {
    if (block.type === 'paragraph') {
      const pieces = block.pieces.map((piece, place) => {
        if (piece.type === 'mark') return marks.link(piece.index);
        // A mark is set apart by how it looks, and does not begin a line.
        return markup`${block.pieces[place + 1] ? piece.text.trimEnd() : piece.text}`;
      });
      return markup`<p>${pieces}</p>\n`;
    }
    const text = oneLine(block.text);
    if (block.type === 'remark') return markup`<p class="remark">${text}</p>\n`;
    if (block.level === 2) return markup`<h2 id="${sectionId(at)}">${text}</h2>\n`;
    return block.level === 3 ? markup`<h3>${text}</h3>\n` : markup`<h4>${text}</h4>\n`;
  });
  return markup`${parts}`;
}

function workOf(record: ResearchRecord, words: ReportWords): Markup {
  const { askedBack, answer, queries, model } = record;
  const searches = queries.map(({ query, goal }) => {
    const why = goal === '' ? NOTHING : markup`<span>${oneLine(goal)}</span>`;
    return markup`<li><q>${oneLine(query)}</q>${why}</li>\n`;
  });
  const rows = [
    markup`<dt>${words.askedBack}</dt><dd>${oneLine(askedBack)}</dd>\n`,
    markup`<dt>${words.answer}</dt><dd>${oneLine(answer)}</dd>\n`,
    ...(searches.length > 0
      ? [markup`<dt>${words.searchedFor}</dt><dd><ol class="queries">\n${searches}</ol></dd>\n`]
      : []),
    markup`<dt>${words.model}</dt><dd>${oneLine(model)}, ${words.tokens(record)}</dd>\n`,
  ];
  return markup`<section class="work" id="work">
<h2>${words.work}</h2>
<dl>
${rows}</dl>
</section>`;
}
