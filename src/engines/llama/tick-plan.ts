import { tokensToMark } from './explicit-cache.ts';
import type { Choice } from './job.ts';
import { SEEDED_SLICE_TOKENS } from './slots.ts';

/** How many of its pending tokens a choice has evaluated next. */
export interface Step {
  readonly choice: Choice;
  readonly tokens: number;
}

export interface TickPlan {
  /** One batch. */
  readonly shared: readonly Step[];
  /** A batch each: seeded requests. */
  readonly alone: readonly Step[];
}

/**
 * One generation step for everybody, and one slice of prefill: a seeded request's own, or one that those without a seed
 * share. Whose slice it is goes round.
 *
 * @param ready Choices with pending tokens: one while generating, more during prefill.
 */
export function planTick(
  ready: readonly Choice[],
  { turn, sliceTokens }: { readonly turn: number; readonly sliceTokens: (generating: number) => number },
): TickPlan {
  const shared: Step[] = [];
  const alone: Step[] = [];
  const prefilling: Choice[] = [];
  for (const choice of ready) {
    if (choice.pending.length > 1) prefilling.push(choice);
    else (choice.job.isSeeded ? alone : shared).push({ choice, tokens: 1 });
  }
  const first = prefilling[turn % Math.max(1, prefilling.length)];
  if (first?.job.isSeeded) {
    alone.push({ choice: first, tokens: Math.min(SEEDED_SLICE_TOKENS, first.pending.length) });
  } else if (first) {
    let left = sliceTokens(shared.length);
    for (const choice of [first, ...prefilling.filter((other) => other !== first && !other.job.isSeeded)]) {
      const tokens = Math.min(left, choice.pending.length, tokensToMark(choice.job, choice.slot));
      if (tokens > 0) shared.push({ choice, tokens });
      left -= tokens;
    }
  }
  return { shared, alone };
}
