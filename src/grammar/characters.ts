/** Code points, both ends included. */
export interface CharacterRange {
  readonly from: number;
  readonly to: number;
}

/** Sorted, and neither overlapping nor touching, so that equal sets are written the same way. No surrogates. */
export type CharacterSet = readonly CharacterRange[];

const CODE_POINT_MAX = 0x10ffff;

/** Everything that text can hold: lone surrogates are no text, and no tokenizer writes them. */
export const ANY_CHARACTER: CharacterSet = [
  { from: 0, to: 0xd7ff },
  { from: 0xe000, to: CODE_POINT_MAX },
];

/** From ranges in any order, overlapping or not, surrogates or not. */
export function setOf(ranges: readonly CharacterRange[]): CharacterSet {
  return without(ANY_CHARACTER, gapsOf(merge(ranges)));
}

/** Every character that is not in the set. */
export function invert(set: CharacterSet): CharacterSet {
  return without(ANY_CHARACTER, set);
}

function merge(ranges: readonly CharacterRange[]): CharacterSet {
  const merged: CharacterRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || range.from > last.to + 1) merged.push(range);
    else if (range.to > last.to) merged[merged.length - 1] = { from: last.from, to: range.to };
  }
  return merged;
}

/** What lies between the ranges, surrogates included. */
function gapsOf(set: readonly CharacterRange[]): readonly CharacterRange[] {
  const gaps: CharacterRange[] = [];
  let next = 0;
  for (const { from, to } of set) {
    if (from > next) gaps.push({ from: next, to: from - 1 });
    next = to + 1;
  }
  if (next <= CODE_POINT_MAX) gaps.push({ from: next, to: CODE_POINT_MAX });
  return gaps;
}

/** Both are sorted. */
function without(set: readonly CharacterRange[], taken: readonly CharacterRange[]): CharacterSet {
  const left: CharacterRange[] = [];
  let index = 0;
  for (const range of set) {
    let next = range.from;
    while (index > 0 && (taken[index - 1]?.to ?? -1) >= next) index--;
    for (; index < taken.length; index++) {
      const cut = taken[index];
      if (cut === undefined || cut.from > range.to) break;
      if (cut.from > next) left.push({ from: next, to: cut.from - 1 });
      next = Math.max(next, cut.to + 1);
    }
    if (next <= range.to) left.push({ from: next, to: range.to });
  }
  return left;
}
