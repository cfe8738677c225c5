/** Whether `value` has more than `depth` nested arrays and objects. Recurses at most to that depth. */
export function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return inner.some((each) => isDeeperThan(each, depth - 1));
}
