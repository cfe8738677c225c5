import { BACKGROUND_SLICE_EVERY } from '../../core/limits.ts';
import { isBackground } from '../background.ts';
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
 * share. Whose slice it is goes round among the live ones, and among the background ones where no live one is left or each
 * BACKGROUND_SLICE_EVERY ticks.
 *
 * @param ready Choices with pending tokens: one while generating, more during prefill.
 */
export function planTick(
  ready: readonly Choice[],
  { turn, sliceTokens }: { readonly turn: number; readonly sliceTokens: (generating: number) => number },
): TickPlan {
  const shared: Step[] = [];
  const alone: Step[] = [];
  const live: Choice[] = [];
  const background: Choice[] = [];
  for (const choice of ready) {
    if (choice.pending.length > 1) (isBackground(choice.job.call.owner) ? background : live).push(choice);
    else (choice.job.isSeeded ? alone : shared).push({ choice, tokens: 1 });
  }
  const order = inOrder({ live, background, turn });
  const [first] = order;
  if (first?.job.isSeeded) {
    alone.push({ choice: first, tokens: Math.min(SEEDED_SLICE_TOKENS, first.pending.length) });
  } else if (first) {
    let left = sliceTokens(shared.length);
    for (const choice of order.filter(({ job }) => !job.isSeeded)) {
      const tokens = Math.min(left, choice.pending.length, tokensToMark(choice.job, choice.slot));
      if (tokens > 0) shared.push({ choice, tokens });
      left -= tokens;
    }
  }
  return { shared, alone };
}

/** The first one's slice it is; the others share what it leaves. */
function inOrder({
  live,
  background,
  turn,
}: {
  readonly live: readonly Choice[];
  readonly background: readonly Choice[];
  readonly turn: number;
}): readonly Choice[] {
  if (live.length === 0) return fromTurn(background, turn);
  if (background.length === 0) return fromTurn(live, turn);
  // Each kind counts its own turns: by those of both, one of its own might never be first.
  const turnsOfBackground = Math.floor(turn / BACKGROUND_SLICE_EVERY);
  return turn % BACKGROUND_SLICE_EVERY === 0
    ? [...fromTurn(background, turnsOfBackground), ...live]
    : [...fromTurn(live, turn - turnsOfBackground), ...background];
}

const fromTurn = (choices: readonly Choice[], turn: number): readonly Choice[] => {
  const at = turn % Math.max(1, choices.length);
  return [...choices.slice(at), ...choices.slice(0, at)];
};
