/**
 * A test for names: `*` stands for any text, also none; everything else for itself.
 *
 * No regular expression: a pattern of many stars must not make a long name slow (linear per star here).
 */
export function compilePattern(pattern: string): (name: string) => boolean {
  const pieces = pattern.split('*');
  const first = pieces[0] ?? '';
  const last = pieces.at(-1) ?? '';
  if (pieces.length === 1) return (name) => name === pattern;
  const inner = pieces.slice(1, -1);
  return (name) => {
    if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
    const end = name.length - last.length;
    let at = first.length;
    for (const piece of inner) {
      const found = name.indexOf(piece, at);
      if (found < 0 || found + piece.length > end) return false;
      at = found + piece.length;
    }
    return true;
  };
}
