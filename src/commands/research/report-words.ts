import { type OwnLanguage, ownLanguageOf } from '../../generation/research/topic.ts';
import { detectLanguage } from '../../generation/translation/detect-language.ts';
import { counted, countWords, formatCount, formatElapsed } from './describe.ts';

/** What a report's files say beside the report, in one language. */
export interface ReportWords {
  /** As HTML names it. */
  readonly language: OwnLanguage;
  readonly kind: string;
  readonly contents: string;
  readonly sources: string;
  readonly work: string;
  readonly question: string;
  /** Behind a label that stands before a text. */
  readonly colon: string;
  readonly askedBack: string;
  readonly answer: string;
  readonly searchedFor: string;
  readonly model: string;
  readonly untitled: string;
  readonly localIndex: string;
  /** Of a report that a budget ended. */
  readonly cutShort: string;
  source(index: number): string;
  backTo(citation: number): string;
  /** How long a text is. */
  length(text: string): string;
  sourceCount(count: number): string;
  pagesFound(count: number): string;
  tokens(spent: { readonly inputTokens: number; readonly outputTokens: number }): string;
  elapsed(ms: number): string;
  /** UTC. */
  day(ms: number): string;
}

const ENGLISH: ReportWords = {
  language: 'en',
  kind: 'Research report',
  contents: 'Contents',
  sources: 'Sources',
  work: 'How it was looked into',
  question: 'Question',
  colon: ':',
  askedBack: 'Asked back',
  answer: 'Answer',
  searchedFor: 'Searched for',
  model: 'Model',
  untitled: 'Without a title',
  localIndex: 'local index',
  cutShort: 'A limit of searches, pages, tokens or time ended the work: the report is shorter than it was to be.',
  source: (index) => `Source ${index}`,
  backTo: (citation) => `Back to citation ${citation}`,
  length: (text) => counted(countWords(text), 'word'),
  sourceCount: (count) => counted(count, 'source'),
  pagesFound: (count) => `${counted(count, 'page')} found`,
  tokens: ({ inputTokens, outputTokens }) =>
    `${formatCount(inputTokens)} tokens read and ${formatCount(outputTokens)} written`,
  elapsed: formatElapsed,
  day: (ms) => dayIn('en-GB', ms),
};

const CHINESE: ReportWords = {
  language: 'zh',
  kind: '调研报告',
  contents: '目录',
  sources: '来源',
  work: '调研过程',
  question: '问题',
  colon: '：',
  askedBack: '反问',
  answer: '回答',
  searchedFor: '检索词',
  model: '模型',
  untitled: '无标题',
  localIndex: '本地索引',
  cutShort: '检索次数、页面数、token 数或时间达到上限，调研提前结束：报告比预定的短。',
  source: (index) => `来源 ${index}`,
  backTo: (citation) => `返回引用处 ${citation}`,
  length: (text) => `${formatCount(signCount(text))} 字`,
  sourceCount: (count) => `${formatCount(count)} 个来源`,
  pagesFound: (count) => `找到 ${formatCount(count)} 个页面`,
  tokens: ({ inputTokens, outputTokens }) =>
    `读取 ${formatCount(inputTokens)} 个 token，生成 ${formatCount(outputTokens)} 个`,
  elapsed: (ms) =>
    formatElapsed(ms)
      .replace(/\bh\b/, '小时')
      .replace(/\bmin\b/, '分')
      .replace(/\bs\b/, '秒'),
  day: (ms) => dayIn('zh-CN', ms),
};

const HAN = /\p{Script=Han}/gu;

/** As Chinese texts are counted: each character, and each word of another script. */
const signCount = (text: string): number => (text.match(HAN)?.length ?? 0) + countWords(text.replaceAll(HAN, ' '));

const dayIn = (locale: string, ms: number): string =>
  new Date(ms).toLocaleDateString(locale, { timeZone: 'UTC', day: 'numeric', month: 'long', year: 'numeric' });

/** For a report in that language; English where there are no others. @param tag Of BCP 47. */
export const reportWords = (tag: string | undefined): ReportWords => (/^zh\b/i.test(tag ?? '') ? CHINESE : ENGLISH);

/** The language of a report, as HTML names it; undefined where that is not clear. */
export async function reportLanguage(report: string): Promise<string | undefined> {
  const text = report.replaceAll(/\[\[\d+\]\]/g, '');
  if (ownLanguageOf(text) === 'zh') return 'zh';
  return (await detectLanguage(text))?.code.replace('_', '-');
}

/** What is said where nobody has an answer, in the language of the question: it asks for nothing that was not asked for. */
export const noPreference = (question: string): string => NO_PREFERENCE[ownLanguageOf(question)];

const NO_PREFERENCE: Readonly<Record<OwnLanguage, string>> = { en: 'No preference.', zh: '没有特别的要求。' };
