import { CheckLimitError } from './check-limit-error.ts';

/** Ours: levels of a value; keeps the recursion off the stack's end. */
const DEPTH_MAX = 500;

/**
 * Text that is equal for equal JSON values, whatever the order of their keys.
 *
 * @param step Called with the work of each part, so that the caller can bound it.
 * @throws CheckLimitError for a value that is nested too deep.
 */
export function jsonKey(value: unknown, step: (count: number) => void, depth = 0): string {
  step(1);
  if (depth === DEPTH_MAX) throw new CheckLimitError('is nested too deep to check');
  const inner = (each: unknown): string => jsonKey(each, step, depth + 1);
  if (Array.isArray(value)) return `[${value.map(inner).join()}]`;
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'string') step(value.length / 16);
    return JSON.stringify(value);
  }
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${inner(each)}`).join()}}`;
}
