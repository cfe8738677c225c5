import type { FinishReason, GenerationEvent, Usage } from '../../core/event.ts';
import { collectResult } from '../collect-result.ts';

export interface TextResult {
  readonly text: string;
  readonly reason: FinishReason;
  readonly usage: Usage;
}

/** Collects the text and usage of a run with one choice. */
export async function collectText(batches: AsyncIterable<readonly GenerationEvent[]>): Promise<TextResult> {
  const { choices, usage } = await collectResult(batches);
  const [choice] = choices;
  const text = (choice?.blocks ?? []).map((block) => (block.type === 'text' ? block.text : '')).join('');
  return { text, reason: choice?.reason ?? 'stop', usage };
}

export const NO_USAGE: Usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
