import { type ReportLanguage, detectReportLanguage } from '../pipeline/topic.ts';
import { detectLanguage } from '../../../generation/translation/detect-language.ts';
import { formatQuantity, countWords, formatCount, formatElapsed } from './format-text.ts';

/** Texts of the report files other than the report itself, in one language. */
export interface ReportLabels {
  /** Language tag for HTML. */
  readonly language: ReportLanguage;
  readonly kind: string;
  readonly contents: string;
  readonly sources: string;
  readonly method: string;
  readonly question: string;
  /** Separates a label from its text. */
  readonly colon: string;
  readonly clarifyingQuestion: string;
  readonly answer: string;
  readonly searchQueries: string;
  readonly model: string;
  readonly untitled: string;
  readonly localIndex: string;
  /** Note of a report that ended early because of a limit. */
  readonly truncationNote: string;
  formatSource(index: number): string;
  formatBackLink(citation: number): string;
  /** Formats the length of a text in words or characters. */
  formatLength(text: string): string;
  formatSourceCount(count: number): string;
  formatPagesFound(count: number): string;
  formatTokens(usage: { readonly inputTokens: number; readonly outputTokens: number }): string;
  formatElapsed(ms: number): string;
  /** Formats the date in UTC. @param ms UTC milliseconds. */
  formatDay(ms: number): string;
}

const ENGLISH: ReportLabels = {
  language: 'en',
  kind: 'Research report',
  contents: 'Contents',
  sources: 'Sources',
  method: 'Research method',
  question: 'Question',
  colon: ':',
  clarifyingQuestion: 'Clarifying question',
  answer: 'Answer',
  searchQueries: 'Search queries',
  model: 'Model',
  untitled: 'Untitled',
  localIndex: 'local index',
  truncationNote:
    'A limit on searches, pages, tokens or time ended the research early. The report is shorter than planned.',
  formatSource: (index) => `Source ${index}`,
  formatBackLink: (citation) => `Back to citation ${citation}`,
  formatLength: (text) => formatQuantity(countWords(text), 'word'),
  formatSourceCount: (count) => formatQuantity(count, 'source'),
  formatPagesFound: (count) => `${formatQuantity(count, 'page')} found`,
  formatTokens: ({ inputTokens, outputTokens }) =>
    `${formatCount(inputTokens)} tokens read and ${formatCount(outputTokens)} written`,
  formatElapsed,
  formatDay: (ms) => formatDate('en-GB', ms),
};

const CHINESE: ReportLabels = {
  language: 'zh',
  kind: '调研报告',
  contents: '目录',
  sources: '来源',
  method: '调研过程',
  question: '问题',
  colon: '：',
  clarifyingQuestion: '反问',
  answer: '回答',
  searchQueries: '检索词',
  model: '模型',
  untitled: '无标题',
  localIndex: '本地索引',
  truncationNote: '检索次数、页面数、token 数或时间达到上限，调研提前结束：报告比预定的短。',
  formatSource: (index) => `来源 ${index}`,
  formatBackLink: (citation) => `返回引用处 ${citation}`,
  formatLength: (text) => `${formatCount(countChineseText(text))} 字`,
  formatSourceCount: (count) => `${formatCount(count)} 个来源`,
  formatPagesFound: (count) => `找到 ${formatCount(count)} 个页面`,
  formatTokens: ({ inputTokens, outputTokens }) =>
    `读取 ${formatCount(inputTokens)} 个 token，生成 ${formatCount(outputTokens)} 个`,
  formatElapsed: (ms) =>
    formatElapsed(ms)
      .replace(/\bh\b/, '小时')
      .replace(/\bmin\b/, '分')
      .replace(/\bs\b/, '秒'),
  formatDay: (ms) => formatDate('zh-CN', ms),
};

const HAN = /\p{Script=Han}/gu;

/** Counts each Chinese character and each word of other scripts, as usual for Chinese texts. */
const countChineseText = (text: string): number =>
  (text.match(HAN)?.length ?? 0) + countWords(text.replaceAll(HAN, ' '));

const formatDate = (locale: string, ms: number): string =>
  new Date(ms).toLocaleDateString(locale, { timeZone: 'UTC', day: 'numeric', month: 'long', year: 'numeric' });

/** Returns the labels for a language; English for an unsupported one. @param tag Language tag (BCP 47). */
export const getReportLabels = (tag: string | undefined): ReportLabels =>
  /^zh\b/i.test(tag ?? '') ? CHINESE : ENGLISH;

/** Detects the language of a report. @returns a language tag for HTML; undefined if the language is unclear. */
export async function detectLanguageTag(report: string): Promise<string | undefined> {
  const text = report.replaceAll(/\[\[\d+\]\]/g, '');
  if (detectReportLanguage(text) === 'zh') return 'zh';
  return (await detectLanguage(text))?.code.replace('_', '-');
}

/** Returns the answer to the clarifying question if the user has none, in the language of the question. */
export const getDefaultAnswer = (question: string): string => DEFAULT_ANSWERS[detectReportLanguage(question)];

const DEFAULT_ANSWERS: Readonly<Record<ReportLanguage, string>> = { en: 'No preference.', zh: '没有特别的要求。' };
