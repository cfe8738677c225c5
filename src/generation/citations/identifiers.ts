/**
 * Reads the names of code in a text, such as `max_age`, `gc.disable()` and `notify()`: each is one name, without its
 * parentheses and without what stands before its last period.
 */
export function readIdentifiers(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [path] of text.matchAll(PATH)) {
    const name = path.length <= PATH_CHARS_MAX ? findName(path) : undefined;
    if (name !== undefined) names.add(name.toLowerCase());
  }
  return names;
}

/**
 * Matches words joined by single periods, and the parenthesis after them. A text is read in one pass: no two parts of
 * the pattern match the same character, so a match never fails after its first character.
 */
const PATH = /[\p{L}\p{N}_]+(?:\.[\p{L}\p{N}_]+)*(?:\(\)?)?/gu;

/** Parley's limit for a path with its parenthesis. A longer one is not a name that a sentence repeats. */
const PATH_CHARS_MAX = 100;

/** Returns the called function, or the last part of a path with an underscore inside. */
function findName(path: string): string | undefined {
  const [dotted = '', call] = path.split(/(?=\()/);
  const parts = dotted.split('.').map((part) => part.replaceAll(/^_+|_+$/g, ''));
  const isCall = call === '()' || (call !== undefined && parts.length > 1);
  const name = isCall ? parts.at(-1) : parts.findLast((part) => part.includes('_'));
  return name !== undefined && /^\p{L}/u.test(name) ? name : undefined;
}
