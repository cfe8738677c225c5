/**
 * Text that is equal for equal JSON values, whatever the order of their keys.
 *
 * @param step Called with the work of each part, so that the caller can bound it.
 */
export function jsonKey(value: unknown, step: (count: number) => void): string {
  step(1);
  if (Array.isArray(value)) return `[${value.map((each) => jsonKey(each, step)).join()}]`;
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'string') step(value.length / 16);
    return JSON.stringify(value);
  }
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${jsonKey(each, step)}`).join()}}`;
}
