/**
 * Formats the bounds of a count, for example `2 to 5` or `at least 2`. At least one bound applies: `min` > 0 or finite
 * `max`.
 */
export function formatCountRange(min: number, max: number): string {
  if (max === Infinity) return `at least ${min}`;
  if (min === 0) return `at most ${max}`;
  return min === max ? `exactly ${min}` : `${min} to ${max}`;
}
