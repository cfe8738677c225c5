import type { ThinkingEffort, ThinkingOptions } from '../../core/request.ts';
import type { RenderMessages } from '../tools/derive-tool-format.ts';

/** Variables of a template. */
export type TemplateVariables = Readonly<Record<string, unknown>>;

/** Returns the variables for a request with thinking, as far as the template reads them. */
export type SetThinkingVariables = (options: ThinkingOptions) => TemplateVariables;

/** The switches of most templates. Both are always set, because templates differ in what their absence means. */
export const THINKING_ON: TemplateVariables = { enable_thinking: true, thinking: true };
export const THINKING_OFF: TemplateVariables = { enable_thinking: false, thinking: false };

const EFFORT_VARIABLES = ['reasoning_effort', 'thinking_effort'] as const;
const EFFORTS: readonly ThinkingEffort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
/** Efforts that models know whose template writes any text. */
const USUAL_EFFORTS: readonly ThinkingEffort[] = ['low', 'medium', 'high'];
const OTHER_EFFORT = 'unknown-effort';
const BUDGET_TOKENS = 512;

interface EffortVariable {
  readonly name: (typeof EFFORT_VARIABLES)[number];
  readonly accepted: readonly ThinkingEffort[];
}

/**
 * Finds the variables that a template reads, by rendering a question with different values: a switch with other values
 * than true and false, an effort, and a budget. Values that the template rejects are never passed.
 */
export function findThinkingVariables(renderMessages: RenderMessages): SetThinkingVariables {
  const render = (variables: TemplateVariables): string | undefined => {
    try {
      return renderMessages({
        ...variables,
        messages: [{ role: 'user', content: 'question' }],
        add_generation_prompt: true,
      });
    } catch {
      return undefined;
    }
  };
  const effort = findEffort(render);
  const hasSwitch = render(THINKING_ON) !== render(THINKING_OFF);
  const on = hasSwitch ? THINKING_ON : { ...THINKING_ON, ...findOtherSwitch(render, effort) };
  const budgetRendering = render({ ...on, thinking_budget: BUDGET_TOKENS });
  const readsBudget = budgetRendering !== undefined && budgetRendering !== render(on);
  return ({ effort: stated, budgetTokens }) => ({
    ...on,
    ...(effort && stated ? { [effort.name]: findNearest(stated, effort.accepted) } : {}),
    ...(readsBudget && budgetTokens !== undefined ? { thinking_budget: budgetTokens } : {}),
  });
}

type Render = (variables: TemplateVariables) => string | undefined;

/** Finds the variable that turns thinking on where the usual switches do not. */
function findOtherSwitch(render: Render, effort: EffortVariable | undefined): TemplateVariables {
  const usual = render(THINKING_ON);
  const byMode = render({ ...THINKING_ON, thinking_mode: 'enabled' });
  if (byMode !== undefined && byMode !== usual) return { thinking_mode: 'enabled' };
  if (!effort || usual === undefined) return {};
  const values = { [effort.name]: findNearest('high', effort.accepted) };
  const byEffort = render({ ...THINKING_ON, ...values });
  // An effort that changes only what precedes the question is no switch.
  return byEffort !== undefined && getEnd(byEffort) !== getEnd(usual) ? values : {};
}

const getEnd = (prompt: string): string => prompt.slice(prompt.lastIndexOf('question'));

function findEffort(render: Render): EffortVariable | undefined {
  const usual = render(THINKING_ON);
  for (const name of EFFORT_VARIABLES) {
    const renderings = EFFORTS.map((value) => ({ value, text: render({ ...THINKING_ON, [name]: value }) }));
    if (renderings.every(({ text }) => text === usual)) continue;
    const other = render({ ...THINKING_ON, [name]: OTHER_EFFORT });
    const writesAnyValue = other?.includes(OTHER_EFFORT) === true;
    const accepted = renderings.filter(({ text }) => text !== undefined).map(({ value }) => value);
    if (accepted.length > 0) return { name, accepted: writesAnyValue ? USUAL_EFFORTS : accepted };
  }
  return undefined;
}

/** Returns the accepted effort that is nearest to the stated one; of two, the higher one. */
const findNearest = (stated: ThinkingEffort, accepted: readonly ThinkingEffort[]): ThinkingEffort | undefined =>
  accepted.toSorted(
    (a, b) => getDistance(stated, a) - getDistance(stated, b) || EFFORTS.indexOf(b) - EFFORTS.indexOf(a),
  )[0];

const getDistance = (one: ThinkingEffort, other: ThinkingEffort): number =>
  Math.abs(EFFORTS.indexOf(one) - EFFORTS.indexOf(other));
