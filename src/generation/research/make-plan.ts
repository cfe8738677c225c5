import type { RequestContext } from '../../core/context.ts';
import {
  RESEARCH_GOAL_CHARS_MAX,
  RESEARCH_HEADING_CHARS_MAX,
  RESEARCH_PLAN_TOKENS_MAX,
  RESEARCH_TITLE_CHARS_MAX,
} from '../../core/limits.ts';
import { parseLoosely } from '../server-tools/ask-form.ts';
import { asDataLine } from '../server-tools/as-data.ts';
import { queryKey, usableQuery } from '../server-tools/usable-query.ts';
import { headingOf } from './heading.ts';
import { queryAbout } from './key-terms.ts';
import type { Plan, PlanSection, Spent } from './kept.ts';
import type { AskModel } from './model-run.ts';
import { titleOf, withOwnSections } from './own-plan.ts';
import { planPrompt, planSchema } from './plan-prompt.ts';
import type { Topic } from './topic.ts';

/**
 * What the report is to be about, part by part. What the model gives no use is made of the user's own words.
 *
 * @throws ServiceError as a generation refuses.
 */
export async function makePlan(
  topic: Topic,
  sectionsMax: number,
  ask: AskModel,
  context: RequestContext,
): Promise<{ readonly plan: Plan; readonly spent: Spent }> {
  const { text, spent } = await ask(
    {
      messages: planPrompt(topic, sectionsMax),
      maxTokens: RESEARCH_PLAN_TOKENS_MAX,
      temperature: 0,
      outputFormat: { type: 'json-schema', name: 'plan', schema: planSchema(sectionsMax), field: 'messages' },
    },
    context,
  );
  const { title, sections } = readPlan(text, topic);
  return {
    plan: {
      title: title ?? titleOf(topic),
      sections: withOwnSections(
        different(sections).slice(0, sectionsMax),
        topic,
        Math.ceil(sectionsMax * SECTIONS_SHARE_MIN),
      ),
    },
    spent,
  };
}

/** Ours: of the parts that a plan may have, those that it has at least. */
const SECTIONS_SHARE_MIN = 0.75;

/** Also of an answer that was cut, or that words stand around: every whole section counts. */
function readPlan(
  text: string,
  topic: Topic,
): { readonly title: string | undefined; readonly sections: readonly PlanSection[] } {
  const whole = fieldsOf(parseLoosely(text));
  const parts = Array.isArray(whole['sections'])
    ? whole['sections']
    : (text.match(/\{[^{}]*\}/g) ?? []).map((part) => parseLoosely(part));
  const quoted = /"title"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const title = whole['title'] ?? (quoted === undefined ? undefined : parseLoosely(quoted));
  return {
    title: typeof title === 'string' ? headingOf(asDataLine(title), RESEARCH_TITLE_CHARS_MAX) : undefined,
    sections: parts.flatMap((part) => readSection(part, topic) ?? []),
  };
}

function readSection(value: unknown, topic: Topic): PlanSection | undefined {
  const { heading, goal, query } = fieldsOf(value);
  if (typeof heading !== 'string') return undefined;
  const named = headingOf(asDataLine(heading), RESEARCH_HEADING_CHARS_MAX);
  const usable = typeof query === 'string' ? usableQuery(queryAbout(topic, asDataLine(query))) : undefined;
  if (named === undefined || usable === undefined) return undefined;
  const aim = typeof goal === 'string' ? asDataLine(goal).slice(0, RESEARCH_GOAL_CHARS_MAX).toWellFormed() : '';
  return { heading: named, goal: aim, query: usable };
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

/** Each heading and each query once. */
function different(sections: readonly PlanSection[]): readonly PlanSection[] {
  const known = new Set<string>();
  return sections.filter(({ heading, query }) => {
    const keys = [`h ${queryKey(heading)}`, `q ${queryKey(query)}`];
    const isKnown = keys.some((key) => known.has(key));
    for (const key of keys) known.add(key);
    return !isKnown;
  });
}
