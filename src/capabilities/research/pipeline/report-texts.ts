import { neutralizeLine } from '../../../generation/server-tools/neutralize-text.ts';
import type { ResearchState } from './state.ts';
import type { ReportLanguage } from './topic.ts';

/** Heading of the section for findings that fit no section of the plan. */
export const FURTHER_FINDINGS_HEADINGS: Readonly<Record<ReportLanguage, string>> = {
  en: 'Further findings',
  zh: '其他发现',
};

export interface Shortfall {
  /** Words of the question that the report does not mention. */
  readonly missingWords: readonly string[];
  /** The report did not reach its size. */
  readonly isShort: boolean;
}

/**
 * Creates the note at the end of a report that did not reach its size or does not mention all words of the question:
 * what was searched, and what was not found. The paragraph is in italics, so readers do not mistake it for a statement of a source.
 */
export function createShortfallNote(
  { queries, sites, unreadPages, sentences }: ResearchState,
  { missingWords, isShort }: Shortfall,
  language: ReportLanguage,
): string {
  const searchedQueries = queries.map(({ query }) => toPlainText(query));
  const failedQueries = queries.filter(({ isFailed }) => isFailed).length;
  const summary = {
    searchedQueries,
    failedQueries,
    pagesFound: sites.length,
    unreadPages: unreadPages.size,
    missingWords: missingWords.map(toPlainText).slice(0, MISSING_WORDS_MAX),
    isShort,
    isEmpty: sentences.length === 0,
  };
  return `*${language === 'zh' ? formatChinese(summary) : formatEnglish(summary)}*`;
}

/** Words that are listed as not mentioned; a long question may have many. */
const MISSING_WORDS_MAX = 8;

const toPlainText = (text: string): string =>
  neutralizeLine(text)
    .replaceAll(/[*_[\]`<>\\]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

interface SearchSummary extends Shortfall {
  readonly searchedQueries: readonly string[];
  /** Queries that no provider answered. */
  readonly failedQueries: number;
  readonly pagesFound: number;
  /** Pages of `pagesFound` that could not be read. */
  readonly unreadPages: number;
  readonly isEmpty: boolean;
}

function formatEnglish(summary: SearchSummary): string {
  const { searchedQueries, failedQueries, pagesFound, unreadPages, missingWords, isShort, isEmpty } = summary;
  if (searchedQueries.length === 0) return 'Nothing was searched for this report, so it has no content.';
  return [
    `This research searched for ${quote(searchedQueries)}.`,
    ...(failedQueries === 0 ? [] : [`${failedQueries} of ${searchedQueries.length} searches failed.`]),
    ...(unreadPages === 0 ? [] : [`${unreadPages} of ${pagesFound} pages could not be read.`]),
    ...(isEmpty || missingWords.length === 0 ? [] : [`No sentence of this report mentions ${quote(missingWords)}.`]),
    ...(isEmpty ? [formatEmptyReport(pagesFound)] : isShort ? ['Nothing more was found that could be reported.'] : []),
  ].join(' ');
}

const quote = (texts: readonly string[]): string => texts.map((text) => `“${text}”`).join(', ');

const formatEmptyReport = (pagesFound: number): string =>
  pagesFound === 0
    ? 'No pages were found, so the report has no content. Add documents with `parley index add FOLDER`, or name a search provider.'
    : `No statement that could be reported was found in ${pagesFound === 1 ? 'the page that was' : `the ${pagesFound} pages that were`} found, so the report has no content.`;

function formatChinese(summary: SearchSummary): string {
  const { searchedQueries, failedQueries, pagesFound, unreadPages, isShort, isEmpty } = summary;
  if (searchedQueries.length === 0) return '本报告没有进行任何检索，因此没有内容。';
  const quotedQueries = searchedQueries.map((query) => `“${query}”`).join('、');
  return [
    `本次调研检索了${quotedQueries}。`,
    ...(failedQueries === 0 ? [] : [`其中 ${failedQueries} 次检索失败。`]),
    ...(unreadPages === 0 ? [] : [`${pagesFound} 个页面中有 ${unreadPages} 个无法读取。`]),
    ...(isEmpty
      ? [formatEmptyReportChinese(pagesFound)]
      : isShort
        ? ['除以上内容外，没有找到更多可供报告的内容。']
        : []),
  ].join('');
}

const formatEmptyReportChinese = (pagesFound: number): string =>
  pagesFound === 0
    ? '没有找到任何页面，因此本报告没有内容。请用 `parley index add FOLDER` 添加文档，或配置一个搜索服务。'
    : `共找到 ${pagesFound} 个页面，其中没有可供报告的内容。`;
