/**
 * Reads the names of code in a text, such as `max_age`, `gc.disable()` and `notify()`: each is one name, without its
 * parentheses and without what stands before its last period.
 */
export const readIdentifiers = (text: string): ReadonlySet<string> =>
  new Set(
    (text.match(IDENTIFIER) ?? []).map((name) => name.replace(/\(\)$/, '').split('.').at(-1)?.toLowerCase() ?? name),
  );

const IDENTIFIER =
  /(?<![\p{L}\p{N}])\p{L}[\p{L}\p{N}]*(?:(?:_+[\p{L}\p{N}]+|\.\p{L}[\p{L}\p{N}]*(?=[_(]))+(?:\(\))?|(?:\.\p{L}[\p{L}\p{N}]*)*\(\))/gu;
