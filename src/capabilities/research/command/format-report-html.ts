import { toSingleLine } from './format-text.ts';
import { safeHtml, EMPTY_HTML, type SafeHtml } from './html-template.ts';
import type { ResearchRecord } from './research-record.ts';
import { parseResearchReport, type ReportBlock } from './parse-report.ts';
import { createCitationLinks, renderSourceList, type CitationLinks } from './report-sources.ts';
import { REPORT_STYLE } from './report-style.ts';
import { type ReportLabels, getReportLabels } from './report-labels.ts';

/** Formats a report as one HTML page without scripts and external resources. All texts are escaped. */
export function formatReportHtml(record: ResearchRecord): string {
  const { title, blocks } = parseResearchReport(record.report);
  const labels = getReportLabels(record.language);
  const links = createCitationLinks(record.references, labels);
  const heading = toSingleLine(title ?? record.question);
  // The source list links back to the citation marks, so the marks are created first.
  const article = createArticle(blocks, links);
  const page = safeHtml`<!doctype html>
<html lang="${labels.language}">
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
${createHeader(record, heading, labels)}
<div class="columns">
${createContents(blocks, record, labels)}
<main>
<article${createLangAttribute(record, labels)}>
${article}</article>
${renderSourceList(record.references, links, labels)}${createMethodSection(record, labels)}
</main>
</div>
</body>
</html>
`;
  return page.safe;
}

/** The only text of the page that is not escaped. */
const STYLE: SafeHtml = { safe: REPORT_STYLE };

function createHeader(record: ResearchRecord, heading: string, labels: ReportLabels): SafeHtml {
  const question = toSingleLine(record.question);
  const details = [
    labels.formatLength(record.report),
    labels.formatSourceCount(record.references.length),
    labels.formatPagesFound(record.pagesFound),
    labels.formatElapsed(record.elapsedMs),
  ];
  const day = new Date(record.startedAt).toISOString();
  return safeHtml`<header class="head">
<p class="kind">${labels.kind}<time datetime="${day}">${labels.formatDay(record.startedAt)}</time></p>
<h1${createLangAttribute(record, labels)}>${heading}</h1>
${question === heading ? EMPTY_HTML : safeHtml`<p class="question">${question}</p>\n`}<ul class="facts">${details.map((fact) => safeHtml`<li>${fact}</li>`)}</ul>
${record.isTruncated ? safeHtml`<p class="note">${labels.truncationNote}</p>\n` : EMPTY_HTML}</header>`;
}

/** Returns the `lang` attribute of report texts if their language is not the language of the page. */
const createLangAttribute = ({ language }: ResearchRecord, labels: ReportLabels): SafeHtml =>
  language === labels.language ? EMPTY_HTML : safeHtml` lang="${language ?? ''}"`;

const getSectionId = (at: number): string => `section-${at + 1}`;

function createContents(blocks: readonly ReportBlock[], record: ResearchRecord, labels: ReportLabels): SafeHtml {
  const sections = blocks.flatMap((block, at) =>
    block.type === 'heading' && block.level === 2
      ? [safeHtml`<li><a href="#${getSectionId(at)}">${toSingleLine(block.text)}</a></li>\n`]
      : [],
  );
  const appendices = [
    ...(record.references.length > 0 ? [safeHtml`<li><a href="#sources">${labels.sources}</a></li>\n`] : []),
    safeHtml`<li><a href="#work">${labels.method}</a></li>\n`,
  ];
  const list = safeHtml`<ol${createLangAttribute(record, labels)}>
${sections}</ol>
`;
  return safeHtml`<nav class="contents" aria-label="${labels.contents}">
<p>${labels.contents}</p>
${sections.length > 0 ? list : EMPTY_HTML}<ol>
${appendices}</ol>
</nav>`;
}

function createArticle(blocks: readonly ReportBlock[], links: CitationLinks): SafeHtml {
  const parts = blocks.map((block, at) => {
    if (block.type === 'paragraph') {
      const pieces = block.pieces.map((piece, position) => {
        if (piece.type === 'mark') return links.createLink(piece.index);
        // No space before a citation mark: CSS separates it, and it must not start a line.
        return safeHtml`${block.pieces[position + 1] ? piece.text.trimEnd() : piece.text}`;
      });
      return safeHtml`<p>${pieces}</p>\n`;
    }
    const text = toSingleLine(block.text);
    if (block.type === 'remark') return safeHtml`<p class="remark">${text}</p>\n`;
    if (block.level === 2) return safeHtml`<h2 id="${getSectionId(at)}">${text}</h2>\n`;
    return block.level === 3 ? safeHtml`<h3>${text}</h3>\n` : safeHtml`<h4>${text}</h4>\n`;
  });
  return safeHtml`${parts}`;
}

function createMethodSection(record: ResearchRecord, labels: ReportLabels): SafeHtml {
  const { clarifyingQuestion, answer, queries, model } = record;
  const searches = queries.map(({ query, goal }) => {
    const reason = goal === '' ? EMPTY_HTML : safeHtml`<span>${toSingleLine(goal)}</span>`;
    return safeHtml`<li><q>${toSingleLine(query)}</q>${reason}</li>\n`;
  });
  const rows = [
    safeHtml`<dt>${labels.clarifyingQuestion}</dt><dd>${toSingleLine(clarifyingQuestion)}</dd>\n`,
    safeHtml`<dt>${labels.answer}</dt><dd>${toSingleLine(answer)}</dd>\n`,
    ...(searches.length > 0
      ? [safeHtml`<dt>${labels.searchQueries}</dt><dd><ol class="queries">\n${searches}</ol></dd>\n`]
      : []),
    safeHtml`<dt>${labels.model}</dt><dd>${toSingleLine(model)}, ${labels.formatTokens(record)}</dd>\n`,
  ];
  return safeHtml`<section class="work" id="work">
<h2>${labels.method}</h2>
<dl>
${rows}</dl>
</section>`;
}
