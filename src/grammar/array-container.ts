import { GRAMMAR_COUNT_MAX } from '../core/limits.ts';
import { type Container, NO_MEMBERS } from './container.ts';
import type { Goals } from './goal.ts';
import type { Keywords } from './keywords.ts';

/** Arrays that satisfy all of `parts`, as far as their items and number go; undefined when there are none. */
export function arrayContainer(parts: readonly Keywords[], goals: Goals): Container | undefined {
  const path = parts[0]?.path ?? '#';
  const min = Math.max(0, ...parts.map((part) => part.minItems ?? 0));
  const maxItems = Math.min(Infinity, ...parts.map((part) => part.maxItems ?? Infinity));
  if (min > maxItems) return goals.note(path, `minItems ${min} is above maxItems ${maxItems}`);
  if (min > GRAMMAR_COUNT_MAX) goals.refuse(path, `minItems must be at most ${GRAMMAR_COUNT_MAX}, got ${min}`);
  const tuple = Math.max(0, ...parts.map((part) => part.prefixItems?.length ?? 0));
  if (tuple > GRAMMAR_COUNT_MAX)
    goals.refuse(path, `prefixItems must have at most ${GRAMMAR_COUNT_MAX} schemas, got ${tuple}`);
  // Where a tuple says nothing of further items, there are none unless they are needed.
  const isOpen = tuple === 0 || min > tuple || parts.some((part) => part.items !== undefined);
  const max = Math.min(maxItems, isOpen ? Infinity : tuple);
  const isCounted = max <= GRAMMAR_COUNT_MAX;
  // From this place on all items are alike, unless there is a last one.
  const slotMax = isCounted ? max : Math.max(tuple, min);
  const itemGoals = Array.from({ length: tuple + 1 }, (_, slot) =>
    goals.of(
      parts.map((part) => part.prefixItems?.[slot] ?? part.items).filter((schema) => schema !== undefined),
      path,
    ),
  );
  return {
    start: { slot: 0, count: 0 },
    goals: itemGoals,
    canEnd: ({ slot }) => slot >= min,
    at({ slot }) {
      const goal = itemGoals[Math.min(slot, tuple)];
      if (!goal || (isCounted && slot >= max)) return NO_MEMBERS;
      const next = { slot: Math.min(slot + 1, slotMax), count: 0 };
      return { members: [{ name: { type: 'item', label: 'item' }, goal, next }] };
    },
  };
}
