import { RESEARCH_HEADING_CHARS_MAX, RESEARCH_TITLE_CHARS_MAX } from './limits.ts';
import { toQueryKey, normalizeQuery } from '../../../generation/server-tools/normalize-query.ts';
import { cleanHeading } from './clean-heading.ts';
import { extractKeyTerms } from './key-terms.ts';
import type { Plan, PlanSection } from './step-record.ts';
import type { ReportLanguage, Topic } from './topic.ts';

/**
 * Creates a plan without the model from the user's words: the topic, the answer, parts of both, and general aspects.
 */
export function createFallbackPlan(topic: Topic, sectionsMax: number): Plan {
  return { title: createTitle(topic), sections: addFallbackSections([], topic, sectionsMax) };
}

export const createTitle = ({ topic }: Topic): string => cleanHeading(topic, RESEARCH_TITLE_CHARS_MAX) ?? topic;

/** Fills the sections up to `sectionsMax` from the user's words, without duplicates. */
export function addFallbackSections(
  sections: readonly PlanSection[],
  topic: Topic,
  sectionsMax: number,
): readonly PlanSection[] {
  const result = [...sections];
  const queries = new Set(result.map(({ query }) => toQueryKey(query)));
  const headings = new Set(result.map(({ heading }) => toQueryKey(heading)));
  for (const { heading, query } of listFallbackSections(topic)) {
    if (result.length >= sectionsMax) break;
    const usable = normalizeQuery(query);
    const usableHeading = cleanHeading(heading, RESEARCH_HEADING_CHARS_MAX);
    if (usable === undefined || usableHeading === undefined) continue;
    if (queries.has(toQueryKey(usable)) || headings.has(toQueryKey(usableHeading))) continue;
    queries.add(toQueryKey(usable));
    headings.add(toQueryKey(usableHeading));
    result.push({ heading: usableHeading, goal: '', query: usable });
  }
  // The overview comes first.
  return result.toSorted((a, b) => Number(isOverview(b, topic)) - Number(isOverview(a, topic)));
}

const isOverview = ({ heading }: PlanSection, { language }: Topic): boolean => heading === ASPECTS[language][0];

function* listFallbackSections({ topic, focus, language }: Topic): Generator<{ heading: string; query: string }> {
  const topicQuery = truncateQuery(topic);
  const [overview = '', focusHeading = '', ...aspects] = ASPECTS[language];
  yield { heading: overview, query: topicQuery };
  if (isSearchable(focus)) yield { heading: focusHeading, query: truncateQuery(focus) };
  const parts = [...splitClauses(topic), ...splitClauses(focus)].filter(isSearchable);
  if (parts.length > 1)
    for (const part of parts.slice(0, PARTS_MAX)) yield { heading: part, query: truncateQuery(part) };
  for (const aspect of aspects) yield { heading: aspect, query: `${extractKeyTerms(topic)} ${aspect.toLowerCase()}` };
}

const PARTS_MAX = 4;
const QUERY_CHARS_MAX = 160;

const truncateQuery = (text: string): string => {
  if (text.length <= QUERY_CHARS_MAX) return text;
  const cut = text.slice(0, QUERY_CHARS_MAX).toWellFormed();
  return cut.includes(' ') ? cut.slice(0, cut.lastIndexOf(' ')) : cut;
};

/** Excludes answers such as `no idea`. */
const isSearchable = (text: string): boolean =>
  (text.match(/\p{L}{4,}/gu)?.length ?? 0) >= 2 || (text.match(/\p{Script=Han}/gu)?.length ?? 0) >= 4;

const splitClauses = (text: string): readonly string[] =>
  text.split(/[.;:,?!。；：，、？！]\s*|\s+(?:and|or|und|et|y)\s+|[和与及]/u).map((part) => part.trim());

/** Headings of general aspects. The first two are the headings of the topic and of the user's answer. */
const ASPECTS: Readonly<Record<ReportLanguage, readonly string[]>> = {
  en: [
    'Overview',
    'Focus of the question',
    'Features',
    'Use',
    'Methods',
    'Limits',
    'Examples',
    'Background',
    'Performance',
    'Risks',
  ],
  zh: ['概述', '问题的重点', '特点', '应用', '方法', '局限', '案例', '背景', '性能', '风险'],
};
