import type { FinishReason, GenerationEvent, Usage } from '../../core/event.ts';
import { collect } from '../collect.ts';

export interface RunText {
  readonly text: string;
  readonly reason: FinishReason;
  readonly usage: Usage;
}

/** The text of a run of one choice, and what it took. */
export async function runText(batches: AsyncIterable<readonly GenerationEvent[]>): Promise<RunText> {
  const { choices, usage } = await collect(batches);
  const [choice] = choices;
  const text = (choice?.blocks ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');
  return { text, reason: choice?.reason ?? 'stop', usage };
}

export const NO_USAGE: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

export const addUsage = (one: Usage, other: Usage): Usage => ({
  promptTokens: one.promptTokens + other.promptTokens,
  cachedTokens: one.cachedTokens + other.cachedTokens,
  completionTokens: one.completionTokens + other.completionTokens,
});
