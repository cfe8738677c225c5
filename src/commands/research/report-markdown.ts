import { hostOf, oneLine, webAddress } from './describe.ts';
import type { ResearchRecord } from './record.ts';
import { parseReport, type ReportBlock } from './report-blocks.ts';
import { type ReportWords, reportWords } from './report-words.ts';

/** The report as one Markdown file: what was asked, the text with its marks as links, and the sources these lead to. */
export function reportMarkdown(record: ResearchRecord): string {
  const words = reportWords(record.language);
  const { title, blocks } = parseReport(record.report);
  const known = new Set(record.references.map(({ index }) => index));
  const facts = [
    words.day(record.startedAt),
    words.length(record.report),
    words.sourceCount(record.references.length),
    words.elapsed(record.elapsedMs),
    record.model,
  ];
  const parts = [
    `# ${escaped(title ?? record.question)}`,
    `**${words.question}${words.colon}** ${escaped(record.question)}`,
    `**${words.askedBack}${words.colon}** ${escaped(record.askedBack)}`,
    `**${words.answer}${words.colon}** ${escaped(record.answer)}`,
    `*${escaped(facts.join(' · '))}*`,
    ...(record.isCutShort ? [`*${words.cutShort}*`] : []),
    ...blocks.map((block) => blockText(block, known)),
    ...(record.references.length > 0 ? [`## ${words.sources}`, sourceList(record, words)] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}

function blockText(block: ReportBlock, known: ReadonlySet<number>): string {
  if (block.type === 'heading') return `${'#'.repeat(block.level)} ${escaped(block.text)}`;
  if (block.type === 'remark') return `*${escaped(block.text)}*`;
  const text = block.pieces
    .map((piece) => {
      if (piece.type === 'text') return escapedInline(piece.text);
      return known.has(piece.index) ? `[[${piece.index}]](#source-${piece.index})` : `\\[\\[${piece.index}\\]\\]`;
    })
    .join('');
  return escapedStart(text);
}

function sourceList({ references }: ResearchRecord, { untitled, localIndex }: ReportWords): string {
  return references
    .map(({ index, title, url }) => {
      const address = webAddress(url);
      const name = escaped(title) || escaped(hostOf(url, localIndex)) || untitled;
      const source = address === undefined ? `${name}: ${escaped(url)}` : `[${name}](<${linkTarget(address)}>)`;
      return `${index}. <a id="source-${index}"></a>${source}`;
    })
    .join('\n');
}

const escaped = (text: string): string => escapedStart(escapedInline(oneLine(text)));

/** What would begin emphasis, code, a link, HTML or an entity; an underscore within a word begins nothing. */
const escapedInline = (text: string): string =>
  text.replaceAll(/[\\`*[\]<>~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|&(?=#?\w+;)/gu, '\\$&');

/** What would make a heading or a list of the first characters of a text. */
const escapedStart = (text: string): string =>
  text.replace(/^(?:#(?=#*(?:\s|$))|[-+](?=[\s-]|$))/, '\\$&').replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2');

/** Between `<` and `>`, which an address has encoded: there a backslash would still hide the sign behind it, and an entity be one. */
const linkTarget = (address: string): string => address.replaceAll('\\', '%5C').replaceAll(/&(?=#?\w+;)/g, '\\&');
