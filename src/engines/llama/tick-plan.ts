import type { Priority } from '../../core/context.ts';
import { BACKGROUND_SLICE_EVERY, LIVE_SLICE_EVERY } from '../../core/limits.ts';
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
 * share. Whose slice it is goes round among the reserved prompts; among the live ones where no reserved one is left, or each
 * LIVE_SLICE_EVERY ticks; and among the background ones where none of these is left, or each BACKGROUND_SLICE_EVERY ticks.
 *
 * @param ready Choices with pending tokens: one while generating, more during prefill.
 */
export function planTick(
  ready: readonly Choice[],
  { turn, sliceTokens }: { readonly turn: number; readonly sliceTokens: (generating: number) => number },
): TickPlan {
  const shared: Step[] = [];
  const alone: Step[] = [];
  const prompts: Record<Priority, Choice[]> = { reserved: [], live: [], background: [] };
  for (const choice of ready) {
    if (choice.pending.length > 1) prompts[choice.job.call.owner.priority ?? 'live'].push(choice);
    else (choice.job.isSeeded ? alone : shared).push({ choice, tokens: 1 });
  }
  const order = inOrder(prompts, turn);
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
function inOrder(prompts: Readonly<Record<Priority, readonly Choice[]>>, turn: number): readonly Choice[] {
  const { reserved, live, background } = prompts;
  const isLiveOwed = reserved.length > 0 && live.length > 0;
  const isBackgroundOwed = background.length > 0 && reserved.length + live.length > 0;
  // Each kind counts its own turns: by those of all, one of its own might never be first.
  const turnsOfBackground = isBackgroundOwed ? Math.floor(turn / BACKGROUND_SLICE_EVERY) : 0;
  // Never at the same turn as those.
  const turnsOfLive = isLiveOwed ? Math.floor((turn + LIVE_SLICE_EVERY - 1) / LIVE_SLICE_EVERY) : 0;
  const rest = turn - turnsOfBackground - turnsOfLive;
  if (isBackgroundOwed && turn % BACKGROUND_SLICE_EVERY === 0)
    return [...fromTurn(background, turnsOfBackground), ...reserved, ...live];
  if (isLiveOwed && turn % LIVE_SLICE_EVERY === 1) return [...fromTurn(live, turnsOfLive), ...reserved, ...background];
  const [first, ...others] = [reserved, live, background].filter((kind) => kind.length > 0);
  return [...fromTurn(first ?? [], rest), ...others.flat()];
}

const fromTurn = (choices: readonly Choice[], turn: number): readonly Choice[] => {
  const at = turn % Math.max(1, choices.length);
  return [...choices.slice(at), ...choices.slice(0, at)];
};
