import { RESEARCH_REPORT_TOKENS } from '../../core/limits.ts';
import type { ReportSize, ResearchBudget } from '../../core/research.ts';
import { queryKey, usableQuery } from '../server-tools/usable-query.ts';
import { estimatedTokens } from './count-tokens.ts';
import type { NextQuery } from './gather-query.ts';
import { keyTerms, termPairs } from './key-terms.ts';
import type { PlanSection, SearchEnd } from './kept.ts';
import type { ResearchState } from './state.ts';
import type { Topic } from './topic.ts';
import { wantedFor } from './wanted.ts';

export interface SearchPlace {
  readonly state: ResearchState;
  readonly topic: Topic;
  readonly size: ReportSize;
  readonly budget: ResearchBudget;
  /** Since the run began. */
  readonly minutes: number;
}

/** Ours: of the minutes of a run, those in which queries are asked. */
const SEARCH_SHARE = 0.5;

/**
 * What is asked next: each part's own query, then others, of the same words of plan and user, for parts of which little was
 * found. What was found has no say in it.
 */
export function nextQuery({ state, topic, size, budget, minutes }: SearchPlace): NextQuery | SearchEnd {
  const sections = state.plan?.sections ?? [];
  const due = dueQuery(state, topic, size);
  if (!due) return 'done';
  if (state.queries.length >= budget.queries) return 'queries';
  if (minutes >= budget.minutes * SEARCH_SHARE) return 'minutes';
  const { at, query } = due;
  const section = sections[at] ?? NO_SECTION;
  const queriesLeft =
    Math.min(budget.queries, Math.max(sections.length, state.queries.length + 1)) - state.queries.length;
  return {
    section: at,
    query,
    goal: section.goal === '' ? section.heading : section.goal,
    wanted: wantedFor(topic, section, query),
    pagesMax: Math.ceil(Math.max(0, budget.pages - state.pages.size) / Math.max(1, queriesLeft)),
  };
}

const NO_SECTION: PlanSection = { heading: '', goal: '', query: '' };

/** Ours: how much more than a report takes is to be noted for it, and how often another query is tried for one part. */
const NOTED_SHARE = 1.6;
const OTHER_QUERIES_MAX = 4;

/** Ours: queries in a row that brought nothing new. Then there is nothing more, or nobody who finds it. */
const DRY_QUERIES_MAX = 3;

function dueQuery(
  { plan, queries, notes }: ResearchState,
  topic: Topic,
  size: ReportSize,
): { readonly at: number; readonly query: string } | undefined {
  const sections = plan?.sections ?? [];
  const unasked = sections[queries.length];
  if (unasked) return { at: queries.length, query: unasked.query };

  const isNew = new Set(notes.map(({ query }) => query));
  if (queries.length >= DRY_QUERIES_MAX && !queries.slice(-DRY_QUERIES_MAX).some(({ id }) => isNew.has(id)))
    return undefined;
  const noted = sections.map((_, at) =>
    estimatedTokens(notes.flatMap((note) => (note.section === at && !note.isAside ? note.sentences : [])).join(' ')),
  );
  const wished = NOTED_SHARE * RESEARCH_REPORT_TOKENS[size].wished;
  if (noted.reduce((sum, tokens) => sum + tokens, 0) >= wished) return undefined;
  const asked = new Set(queries.map(({ query }) => queryKey(query)));
  const poorest = [...noted.keys()].toSorted((a, b) => (noted[a] ?? 0) - (noted[b] ?? 0));
  for (const at of poorest) {
    const section = sections[at];
    if (!section || queries.filter((query) => query.section === at).length > OTHER_QUERIES_MAX) continue;
    const query = otherQueries(topic, section).find((each) => !asked.has(queryKey(each)));
    if (query !== undefined) return { at, query };
  }
  return undefined;
}

/** Fewer words find more; each still names something of the topic. */
const otherQueries = ({ topic, focus }: Topic, { heading, goal, query }: PlanSection): readonly string[] =>
  [
    `${keyTerms(topic)} ${heading}`,
    `${keyTerms(topic)} ${keyTerms(goal)}`,
    `${keyTerms(query)} ${keyTerms(focus)}`,
    ...termPairs(topic),
    ...termPairs(focus),
    ...termPairs(query),
    keyTerms(topic),
  ].flatMap((text) => usableQuery(text) ?? []);
