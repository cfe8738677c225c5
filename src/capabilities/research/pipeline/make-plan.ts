import type { RequestContext } from '../../../core/context.ts';
import {
  RESEARCH_GOAL_CHARS_MAX,
  RESEARCH_HEADING_CHARS_MAX,
  RESEARCH_PLAN_TOKENS_MAX,
  RESEARCH_TITLE_CHARS_MAX,
} from './limits.ts';
import { parseEmbeddedJson } from '../../../generation/server-tools/generate-object.ts';
import { neutralizeLine } from '../../../generation/server-tools/neutralize-text.ts';
import { toQueryKey, normalizeQuery } from '../../../generation/server-tools/normalize-query.ts';
import { cleanHeading } from './clean-heading.ts';
import { addTopicTerms } from './key-terms.ts';
import type { Plan, PlanSection, TokenUsage } from './step-record.ts';
import type { RunModel } from './run-model.ts';
import { createTitle, addFallbackSections } from './fallback-plan.ts';
import { createPlanPrompt, createPlanSchema } from './plan-prompt.ts';
import type { Topic } from './topic.ts';
import { isRecord } from '../../../lib/is-record.ts';

/**
 * Creates the plan of a report with the model. Sections that the model does not provide come from the user's own words.
 *
 * @throws ServiceError of any kind that a generation throws.
 */
export async function makePlan(
  topic: Topic,
  sectionsMax: number,
  runModel: RunModel,
  context: RequestContext,
): Promise<{ readonly plan: Plan; readonly usage: TokenUsage }> {
  const { text, usage } = await runModel(
    {
      messages: createPlanPrompt(topic, sectionsMax),
      maxTokens: RESEARCH_PLAN_TOKENS_MAX,
      temperature: 0,
      outputFormat: { type: 'json-schema', name: 'plan', schema: createPlanSchema(sectionsMax), field: 'messages' },
    },
    context,
  );
  const { title, sections } = parsePlan(text, topic);
  return {
    plan: {
      title: title ?? createTitle(topic),
      sections: addFallbackSections(
        deduplicateSections(sections).slice(0, sectionsMax),
        topic,
        Math.ceil(sectionsMax * SECTIONS_SHARE_MIN),
      ),
    },
    usage,
  };
}

/** Minimum share of the requested sections that the plan gets, filled up from the user's words. */
const SECTIONS_SHARE_MIN = 0.75;

/** Also reads a truncated answer or JSON inside other text: every complete section counts. */
function parsePlan(
  text: string,
  topic: Topic,
): { readonly title: string | undefined; readonly sections: readonly PlanSection[] } {
  const whole = toRecord(parseEmbeddedJson(text));
  const parts = Array.isArray(whole['sections'])
    ? whole['sections']
    : (text.match(/\{[^{}]*\}/g) ?? []).map((part) => parseEmbeddedJson(part));
  const quoted = /"title"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  const title = whole['title'] ?? (quoted === undefined ? undefined : parseEmbeddedJson(quoted));
  return {
    title: typeof title === 'string' ? cleanHeading(neutralizeLine(title), RESEARCH_TITLE_CHARS_MAX) : undefined,
    sections: parts.flatMap((part) => parseSection(part, topic) ?? []),
  };
}

function parseSection(value: unknown, topic: Topic): PlanSection | undefined {
  const { heading, goal, query } = toRecord(value);
  if (typeof heading !== 'string') return undefined;
  const validHeading = cleanHeading(neutralizeLine(heading), RESEARCH_HEADING_CHARS_MAX);
  const validQuery =
    typeof query === 'string' ? normalizeQuery(addTopicTerms(topic, neutralizeLine(query))) : undefined;
  if (validHeading === undefined || validQuery === undefined) return undefined;
  const validGoal =
    typeof goal === 'string' ? neutralizeLine(goal).slice(0, RESEARCH_GOAL_CHARS_MAX).toWellFormed() : '';
  return { heading: validHeading, goal: validGoal, query: validQuery };
}

const toRecord = (value: unknown): Readonly<Record<string, unknown>> => (isRecord(value) ? value : {});

/** Keeps the first section of each heading and each query. */
function deduplicateSections(sections: readonly PlanSection[]): readonly PlanSection[] {
  const seen = new Set<string>();
  return sections.filter(({ heading, query }) => {
    const keys = [`h ${toQueryKey(heading)}`, `q ${toQueryKey(query)}`];
    const isRepeated = keys.some((key) => seen.has(key));
    for (const key of keys) seen.add(key);
    return !isRepeated;
  });
}
