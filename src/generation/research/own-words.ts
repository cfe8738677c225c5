import { asDataLine } from '../server-tools/as-data.ts';
import type { ResearchState } from './state.ts';
import type { OwnLanguage } from './topic.ts';

/** The heading of what was found and fits no part of the plan. */
export const FURTHER: Readonly<Record<OwnLanguage, string>> = { en: 'Further findings', zh: '其他发现' };

/**
 * What a report says of itself where it has not the wished size: what was searched for, and that no more was found. One
 * paragraph in italics, so that nobody takes it for what a source says.
 */
export function shortfallNote({ queries, sites, unread, sentences }: ResearchState, language: OwnLanguage): string {
  const asked = queries.map(({ query }) =>
    asDataLine(query)
      .replaceAll(/[*_[\]`<>\\]/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  const failed = queries.filter(({ isFailed }) => isFailed).length;
  const facts = { asked, failed, found: sites.length, unread: unread.size, isEmpty: sentences.length === 0 };
  return `*${language === 'zh' ? inChinese(facts) : inEnglish(facts)}*`;
}

interface Facts {
  readonly asked: readonly string[];
  /** Queries that no provider answered. */
  readonly failed: number;
  /** Pages that were found. */
  readonly found: number;
  /** Those of them that could not be read. */
  readonly unread: number;
  readonly isEmpty: boolean;
}

function inEnglish({ asked, failed, found, unread, isEmpty }: Facts): string {
  if (asked.length === 0) return 'Nothing was searched for this report, so it has nothing to say.';
  const what = asked.map((query) => `“${query}”`).join(', ');
  return [
    `This research searched for ${what}.`,
    ...(failed === 0 ? [] : [`${failed} of ${asked.length} searches failed.`]),
    ...(unread === 0 ? [] : [`${unread} of ${found} pages could not be read.`]),
    isEmpty
      ? `It came upon ${found} ${found === 1 ? 'page' : 'pages'} and found nothing in them that could be reported.`
      : 'Nothing more was found that could be reported.',
  ].join(' ');
}

function inChinese({ asked, failed, found, unread, isEmpty }: Facts): string {
  if (asked.length === 0) return '本报告没有进行任何检索，因此没有内容。';
  const what = asked.map((query) => `“${query}”`).join('、');
  return [
    `本次调研检索了${what}。`,
    ...(failed === 0 ? [] : [`其中 ${failed} 次检索失败。`]),
    ...(unread === 0 ? [] : [`${found} 个页面中有 ${unread} 个无法读取。`]),
    isEmpty ? `共找到 ${found} 个页面，其中没有可供报告的内容。` : '除以上内容外，没有找到更多可供报告的内容。',
  ].join('');
}
