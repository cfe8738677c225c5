import { GRAMMAR_COUNT_MAX } from './limits.ts';
import { type Container, NO_MEMBERS } from './container.ts';
import type { CompileContext } from './value-constraint.ts';
import { mayEvaluateUnknownMembers, type SchemaKeywords } from './keywords.ts';

/** Creates the arrays that satisfy the item keywords of all `parts`; undefined when there are none. */
export function createArrayContainer(parts: readonly SchemaKeywords[], context: CompileContext): Container | undefined {
  const path = parts[0]?.path ?? '#';
  const min = Math.max(0, ...parts.map((part) => part.minItems ?? 0));
  const maxItems = Math.min(Infinity, ...parts.map((part) => part.maxItems ?? Infinity));
  if (min > maxItems) return context.noteImpossible(path, `minItems ${min} is above maxItems ${maxItems}`);
  if (min > GRAMMAR_COUNT_MAX) context.throwError(path, `minItems must be at most ${GRAMMAR_COUNT_MAX}, got ${min}`);
  const tupleLength = Math.max(0, ...parts.map((part) => part.prefixItems?.length ?? 0));
  if (tupleLength > GRAMMAR_COUNT_MAX)
    context.throwError(path, `prefixItems must have at most ${GRAMMAR_COUNT_MAX} schemas, got ${tupleLength}`);
  // A tuple without `items` allows no further items, unless minItems requires them.
  const allowsFurtherItems =
    tupleLength === 0 ||
    min > tupleLength ||
    parts.some((part) => (part.isOpen ?? part.items ?? part.unevaluatedItems) !== undefined);
  const evaluatesFurtherItems =
    parts.some((part) => (part.items ?? part.contains) !== undefined || mayEvaluateUnknownMembers(part)) ||
    parts.filter((part) => part.unevaluatedItems !== undefined).length !== 1;

  const max = Math.min(maxItems, allowsFurtherItems ? Infinity : tupleLength);
  const isCounted = max <= GRAMMAR_COUNT_MAX;
  // From this slot on all items have the same constraint; with a maximum, the last slot allows no further item.
  const lastSlot = isCounted ? max : Math.max(tupleLength, min);
  const isEvaluated = (slot: number): boolean => slot < tupleLength || evaluatesFurtherItems;
  const itemGoals = Array.from({ length: tupleLength + 1 }, (_, slot) =>
    context.getConstraint(
      parts
        .map(
          (part) => part.prefixItems?.[slot] ?? part.items ?? (isEvaluated(slot) ? undefined : part.unevaluatedItems),
        )
        .filter((schema) => schema !== undefined),
      path,
    ),
  );
  return {
    start: { slot: 0, count: 0 },
    constraints: itemGoals,
    canEnd: ({ slot }) => slot >= min,
    getNextMembers({ slot }) {
      const constraint = itemGoals[Math.min(slot, tupleLength)];
      if (!constraint || (isCounted && slot >= max)) return NO_MEMBERS;
      const next = { slot: Math.min(slot + 1, lastSlot), count: 0 };
      return { members: [{ name: { type: 'item', label: 'item' }, constraint: constraint, next }] };
    },
  };
}
