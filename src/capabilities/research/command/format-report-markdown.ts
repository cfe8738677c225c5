import { getSourceHost, toSingleLine, parseWebUrl } from './format-text.ts';
import type { ResearchRecord } from './research-record.ts';
import { parseResearchReport, type ReportBlock } from './parse-report.ts';
import { type ReportLabels, getReportLabels } from './report-labels.ts';

/** Formats a report as Markdown: question and answers, the text with linked citation marks, and the sources. */
export function formatReportMarkdown(record: ResearchRecord): string {
  const labels = getReportLabels(record.language);
  const { title, blocks } = parseResearchReport(record.report);
  const sourceIndexes = new Set(record.references.map(({ index }) => index));
  const details = [
    labels.formatDay(record.startedAt),
    labels.formatLength(record.report),
    labels.formatSourceCount(record.references.length),
    labels.formatElapsed(record.elapsedMs),
    record.model,
  ];
  const parts = [
    `# ${escapeText(title ?? record.question)}`,
    `**${labels.question}${labels.colon}** ${escapeText(record.question)}`,
    `**${labels.clarifyingQuestion}${labels.colon}** ${escapeText(record.clarifyingQuestion)}`,
    `**${labels.answer}${labels.colon}** ${escapeText(record.answer)}`,
    `*${escapeText(details.join(' · '))}*`,
    ...(record.isTruncated ? [`*${labels.truncationNote}*`] : []),
    ...blocks.map((block) => formatBlock(block, sourceIndexes)),
    ...(record.references.length > 0 ? [`## ${labels.sources}`, formatSourceList(record, labels)] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}

function formatBlock(block: ReportBlock, sourceIndexes: ReadonlySet<number>): string {
  if (block.type === 'heading') return `${'#'.repeat(block.level)} ${escapeText(block.text)}`;
  if (block.type === 'remark') return `*${escapeText(block.text)}*`;
  const text = block.pieces
    .map((piece) => {
      if (piece.type === 'text') return escapeInline(piece.text);
      return sourceIndexes.has(piece.index)
        ? `[[${piece.index}]](#source-${piece.index})`
        : `\\[\\[${piece.index}\\]\\]`;
    })
    .join('');
  return escapeStart(text);
}

function formatSourceList({ references }: ResearchRecord, { untitled, localIndex }: ReportLabels): string {
  return references
    .map(({ index, title, url }) => {
      const address = parseWebUrl(url);
      const name = escapeText(title) || escapeText(getSourceHost(url, localIndex)) || untitled;
      const source =
        address === undefined ? `${name}: ${escapeText(url)}` : `[${name}](<${encodeLinkTarget(address)}>)`;
      return `${index}. <a id="source-${index}"></a>${source}`;
    })
    .join('\n');
}

const escapeText = (text: string): string => escapeStart(escapeInline(toSingleLine(text)));

/** Escapes emphasis, code, links, HTML and entities. An underscore within a word has no meaning. */
const escapeInline = (text: string): string =>
  text.replaceAll(/[\\`*[\]<>~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|&(?=#?\w+;)/gu, '\\$&');

/** Escapes a start of the text that would make it a heading or a list. */
const escapeStart = (text: string): string =>
  text.replace(/^(?:#(?=#*(?:\s|$))|[-+](?=[\s-]|$))/, '\\$&').replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2');

/** Escapes a URL for a link target in `<…>`, where backslashes and entities are still interpreted. */
const encodeLinkTarget = (address: string): string => address.replaceAll('\\', '%5C').replaceAll(/&(?=#?\w+;)/g, '\\&');
