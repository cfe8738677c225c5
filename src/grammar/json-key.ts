import { createDepthError } from './check-limit-error.ts';

/** Maximum nesting depth of a value. Bounds the recursion. */
const DEPTH_MAX = 500;

/**
 * Returns a text that is equal for equal JSON values, whatever the order of their keys.
 *
 * @param countSteps Called with the steps of each part, so that the caller can limit them.
 * @throws CheckLimitError for a value that is nested too deeply.
 */
export function createJsonKey(value: unknown, countSteps: (count: number) => void, depth = 0): string {
  countSteps(1);
  if (depth === DEPTH_MAX) throw createDepthError();
  const inner = (each: unknown): string => createJsonKey(each, countSteps, depth + 1);
  if (Array.isArray(value)) return `[${value.map(inner).join()}]`;
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'string') countSteps(value.length / 16);
    return JSON.stringify(value);
  }
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${inner(each)}`).join()}}`;
}
