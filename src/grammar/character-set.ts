/** A range of code points; both ends are inclusive. */
export interface CharacterRange {
  readonly from: number;
  readonly to: number;
}

/** Sorted ranges that neither overlap nor touch, so that equal sets are equal lists. Contains no surrogates. */
export type CharacterSet = readonly CharacterRange[];

const CODE_POINT_MAX = 0x10ffff;

/** All characters of valid text. Lone surrogates are not text, and no tokenizer produces them. */
export const ANY_CHARACTER: CharacterSet = [
  { from: 0, to: 0xd7ff },
  { from: 0xe000, to: CODE_POINT_MAX },
];

/** Creates a set from ranges in any order, which may overlap or contain surrogates. */
export function createCharacterSet(ranges: readonly CharacterRange[]): CharacterSet {
  return subtractRanges(ANY_CHARACTER, findGaps(mergeRanges(ranges)));
}

/** Returns every character that is not in the set. */
export function invertSet(set: CharacterSet): CharacterSet {
  return subtractRanges(ANY_CHARACTER, set);
}

function mergeRanges(ranges: readonly CharacterRange[]): CharacterSet {
  const merged: CharacterRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || range.from > last.to + 1) merged.push(range);
    else if (range.to > last.to) merged[merged.length - 1] = { from: last.from, to: range.to };
  }
  return merged;
}

/** Returns the ranges between the given ones, surrogates included. */
function findGaps(set: readonly CharacterRange[]): readonly CharacterRange[] {
  const gaps: CharacterRange[] = [];
  let next = 0;
  for (const { from, to } of set) {
    if (from > next) gaps.push({ from: next, to: from - 1 });
    next = to + 1;
  }
  if (next <= CODE_POINT_MAX) gaps.push({ from: next, to: CODE_POINT_MAX });
  return gaps;
}

/** Subtracts sorted ranges from sorted ranges. */
function subtractRanges(set: readonly CharacterRange[], removed: readonly CharacterRange[]): CharacterSet {
  const remaining: CharacterRange[] = [];
  let index = 0;
  for (const range of set) {
    let next = range.from;
    while (index > 0 && (removed[index - 1]?.to ?? -1) >= next) index--;
    for (; index < removed.length; index++) {
      const removedRange = removed[index];
      if (removedRange === undefined || removedRange.from > range.to) break;
      if (removedRange.from > next) remaining.push({ from: next, to: removedRange.from - 1 });
      next = Math.max(next, removedRange.to + 1);
    }
    if (next <= range.to) remaining.push({ from: next, to: range.to });
  }
  return remaining;
}
