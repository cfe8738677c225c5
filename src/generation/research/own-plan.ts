import { RESEARCH_HEADING_CHARS_MAX, RESEARCH_TITLE_CHARS_MAX } from '../../core/limits.ts';
import { queryKey, usableQuery } from '../server-tools/usable-query.ts';
import { headingOf } from './heading.ts';
import { keyTerms } from './key-terms.ts';
import type { Plan, PlanSection } from './kept.ts';
import type { OwnLanguage, Topic } from './topic.ts';

/** A plan of the user's own words: the topic, what was answered, parts of both, and what may be asked of any topic. */
export function ownPlan(topic: Topic, sectionsMax: number): Plan {
  return { title: titleOf(topic), sections: withOwnSections([], topic, sectionsMax) };
}

export const titleOf = ({ topic }: Topic): string => headingOf(topic, RESEARCH_TITLE_CHARS_MAX) ?? topic;

/** Fills up with sections of the user's own words, as far as they are not there yet. */
export function withOwnSections(
  sections: readonly PlanSection[],
  topic: Topic,
  sectionsMax: number,
): readonly PlanSection[] {
  const all = [...sections];
  const queries = new Set(all.map(({ query }) => queryKey(query)));
  const headings = new Set(all.map(({ heading }) => queryKey(heading)));
  for (const { heading, query } of ownSections(topic)) {
    if (all.length >= sectionsMax) break;
    const usable = usableQuery(query);
    const named = headingOf(heading, RESEARCH_HEADING_CHARS_MAX);
    if (usable === undefined || named === undefined) continue;
    if (queries.has(queryKey(usable)) || headings.has(queryKey(named))) continue;
    queries.add(queryKey(usable));
    headings.add(queryKey(named));
    all.push({ heading: named, goal: '', query: usable });
  }
  // What the topic is comes before its parts.
  return all.toSorted((a, b) => Number(isOverview(b, topic)) - Number(isOverview(a, topic)));
}

const isOverview = ({ heading }: PlanSection, { language }: Topic): boolean => heading === ASPECTS[language][0];

function* ownSections({ topic, focus, language }: Topic): Generator<{ heading: string; query: string }> {
  const asked = shortQuery(topic);
  const [overview = '', ofFocus = '', ...aspects] = ASPECTS[language];
  yield { heading: overview, query: asked };
  if (hasSubstance(focus)) yield { heading: ofFocus, query: shortQuery(focus) };
  const parts = [...partsOf(topic), ...partsOf(focus)].filter(hasSubstance);
  if (parts.length > 1) for (const part of parts.slice(0, PARTS_MAX)) yield { heading: part, query: shortQuery(part) };
  for (const aspect of aspects) yield { heading: aspect, query: `${keyTerms(topic)} ${aspect.toLowerCase()}` };
}

const PARTS_MAX = 4;
const QUERY_CHARS_MAX = 160;

const shortQuery = (text: string): string => {
  if (text.length <= QUERY_CHARS_MAX) return text;
  const cut = text.slice(0, QUERY_CHARS_MAX).toWellFormed();
  return cut.includes(' ') ? cut.slice(0, cut.lastIndexOf(' ')) : cut;
};

/** Answers such as `no idea` look for nothing. */
const hasSubstance = (text: string): boolean =>
  (text.match(/\p{L}{4,}/gu)?.length ?? 0) >= 2 || (text.match(/\p{Script=Han}/gu)?.length ?? 0) >= 4;

const partsOf = (text: string): readonly string[] =>
  text.split(/[.;:,?!。；：，、？！]\s*|\s+(?:and|or|und|et|y)\s+|[和与及]/u).map((part) => part.trim());

/** The first two head the topic and the answer. */
const ASPECTS: Readonly<Record<OwnLanguage, readonly string[]>> = {
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
