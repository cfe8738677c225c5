/** Bounds of a count in words, e.g. `2 to 5` or `at least 2`. One of the two is a bound: not 0, or not Infinity. */
export function countRange(min: number, max: number): string {
  if (max === Infinity) return `at least ${min}`;
  if (min === 0) return `at most ${max}`;
  return min === max ? `exactly ${min}` : `${min} to ${max}`;
}
