import type { ModelEntry } from '../../../catalogue/model.ts';
import type { ThinkingWish } from '../../../core/request.ts';
import { isPresent, present } from '../../../lib/present.ts';
import type { PromptWire } from './schema.ts';

type ThinkingFields = Pick<PromptWire, 'thinking' | 'reasoning_effort' | 'output_config'>;

const effortOf = ({ reasoning_effort, output_config }: ThinkingFields) => output_config?.effort ?? reasoning_effort;

/** decisions.md "Generation": effort none, then `thinking`; effort alone switches nothing on. */
const wantsThinking = (wire: ThinkingFields): boolean =>
  effortOf(wire) !== 'none' && (wire.thinking?.type === 'enabled' || wire.thinking?.type === 'adaptive');

/** Rules about thinking beside other fields hold only where a thought comes of it. */
export const willThink = (wire: ThinkingFields, { abilities }: Pick<ModelEntry, 'abilities'>): boolean =>
  (abilities.thinking ?? false) !== false && wantsThinking(wire);

/**
 * A request as it is meant where its model thinks by default and it says nothing of that itself. The default gives way where
 * a thought could not be: before a forced call, or before an answer that was begun.
 */
export function withDefaultThinking<Wire extends PromptWire>(
  wire: Wire,
  { thinksByDefault }: Pick<ModelEntry, 'thinksByDefault'>,
): Wire {
  const { thinking, tool_choice: choice, messages } = wire;
  const isForced = choice?.type === 'any' || choice?.type === 'tool';
  const isExcluded = isForced || messages.at(-1)?.role === 'assistant' || effortOf(wire) === 'none';
  return !thinksByDefault || isExcluded || isPresent(thinking) ? wire : { ...wire, thinking: { type: 'adaptive' } };
}

export function decodeThinking(wire: ThinkingFields): ThinkingWish | undefined {
  if (!wantsThinking(wire)) return undefined;
  const effort = effortOf(wire);
  return present({
    budgetTokens: wire.thinking?.type === 'enabled' ? wire.thinking.budget_tokens : undefined,
    effort: effort === 'max' || effort === 'xhigh' ? ('max' as const) : effort ? ('high' as const) : undefined,
  });
}

/** Fields about thinking that changed nothing, where generation says that it did not hear the wish. */
export function ignoredThinking(wire: ThinkingFields, isHeard: boolean): readonly string[] {
  const { thinking } = wire;
  const effortFields = [
    ...(wire.output_config?.effort ? ['output_config.effort'] : []),
    ...(wire.reasoning_effort ? ['reasoning_effort'] : []),
  ];
  if (isHeard)
    return [
      // Alone it switches nothing on.
      ...(!wantsThinking(wire) && effortOf(wire) !== 'none' ? effortFields : []),
      ...(thinking?.type === 'between_tools' ? ['thinking'] : []),
      // A thought is always told whole.
      ...(thinking && 'display' in thinking && HIDDEN.has(thinking.display ?? '') ? ['thinking.display'] : []),
    ];
  return [...(thinking ? ['thinking'] : []), ...effortFields];
}

const HIDDEN: ReadonlySet<string> = new Set(['omitted', 'updates']);
