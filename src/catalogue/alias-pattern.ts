/**
 * Compiles a pattern for names: `*` matches any text, including the empty one; other characters match themselves.
 *
 * Not a regular expression: the time must stay linear per star, so that a pattern with many stars cannot be slow.
 */
export function compileAliasPattern(pattern: string): (name: string) => boolean {
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
