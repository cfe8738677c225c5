import { RESEARCH_REPORT_TOKENS } from './limits.ts';
import type { ReportSize, ResearchBudget } from '../research.ts';
import { toQueryKey, normalizeQuery } from '../../../generation/server-tools/normalize-query.ts';
import { estimateTokens } from './token-counter.ts';
import type { PlannedQuery } from './gather-query.ts';
import { extractKeyTerms, createTermPairs } from './key-terms.ts';
import type { PlanSection, SearchEndReason } from './step-record.ts';
import type { ResearchState } from './state.ts';
import type { Topic } from './topic.ts';
import { createRelevanceTerms } from './relevance-terms.ts';

export interface SearchProgress {
  readonly state: ResearchState;
  readonly topic: Topic;
  readonly size: ReportSize;
  readonly budget: ResearchBudget;
  /** Minutes since the run started. */
  readonly minutes: number;
}

/** Share of a run's minutes in which queries may start. */
const SEARCH_TIME_SHARE = 0.5;

/**
 * Chooses the next query: first each section's own query, then further queries for sections with few notes. Queries use
 * only words of the plan and the user, never of pages, so a page cannot influence what is searched.
 */
export function chooseNextQuery({
  state,
  topic,
  size,
  budget,
  minutes,
}: SearchProgress): PlannedQuery | SearchEndReason {
  const sections = state.plan?.sections ?? [];
  const due = findDueQuery(state, topic, size);
  if (!due) return 'done';
  if (state.queries.length >= budget.queries) return 'queries';
  if (minutes >= budget.minutes * SEARCH_TIME_SHARE) return 'minutes';
  const { at, query } = due;
  const section = sections[at] ?? EMPTY_SECTION;
  const queriesLeft =
    Math.min(budget.queries, Math.max(sections.length, state.queries.length + 1)) - state.queries.length;
  return {
    section: at,
    query,
    goal: section.goal === '' ? section.heading : section.goal,
    relevanceTerms: createRelevanceTerms(topic, section, query),
    pagesMax: Math.ceil(Math.max(0, budget.pages - state.pages.size) / Math.max(1, queriesLeft)),
  };
}

const EMPTY_SECTION: PlanSection = { heading: '', goal: '', query: '' };

/** Tokens of notes to collect per token of the report. */
const NOTES_TO_REPORT_RATIO = 1.6;
/** Limit of further queries per section. */
const FURTHER_QUERIES_MAX = 4;

/** Successive queries without a new note after which the search ends: nothing more exists, or no provider works. */
const EMPTY_QUERIES_MAX = 3;

function findDueQuery(
  { plan, queries, notes }: ResearchState,
  topic: Topic,
  size: ReportSize,
): { readonly at: number; readonly query: string } | undefined {
  const sections = plan?.sections ?? [];
  const unusedSection = sections[queries.length];
  if (unusedSection) return { at: queries.length, query: unusedSection.query };

  const productiveQueries = new Set(notes.map(({ query }) => query));
  if (
    queries.length >= EMPTY_QUERIES_MAX &&
    !queries.slice(-EMPTY_QUERIES_MAX).some(({ id }) => productiveQueries.has(id))
  )
    return undefined;
  const notedTokens = sections.map((_, at) =>
    estimateTokens(notes.flatMap((note) => (note.section === at ? note.sentences : [])).join(' ')),
  );
  const tokensWanted = NOTES_TO_REPORT_RATIO * RESEARCH_REPORT_TOKENS[size].target;
  if (notedTokens.reduce((sum, tokens) => sum + tokens, 0) >= tokensWanted) return undefined;
  const usedKeys = new Set(queries.map(({ query }) => toQueryKey(query)));
  const sectionsByTokens = [...notedTokens.keys()].toSorted((a, b) => (notedTokens[a] ?? 0) - (notedTokens[b] ?? 0));
  for (const at of sectionsByTokens) {
    const section = sections[at];
    if (!section || queries.filter((query) => query.section === at).length > FURTHER_QUERIES_MAX) continue;
    const query = createFurtherQueries(topic, section).find((each) => !usedKeys.has(toQueryKey(each)));
    if (query !== undefined) return { at, query };
  }
  return undefined;
}

/** Fewer words find more results. Each query still contains a term of the topic. */
const createFurtherQueries = ({ topic, focus }: Topic, { heading, goal, query }: PlanSection): readonly string[] =>
  [
    `${extractKeyTerms(topic)} ${heading}`,
    `${extractKeyTerms(topic)} ${extractKeyTerms(goal)}`,
    `${extractKeyTerms(query)} ${extractKeyTerms(focus)}`,
    ...createTermPairs(topic),
    ...createTermPairs(focus),
    ...createTermPairs(query),
    extractKeyTerms(topic),
  ].flatMap((text) => normalizeQuery(text) ?? []);
