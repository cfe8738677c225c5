import type { Rule } from './tree.ts';

const PAGE = 'docs/security.md';

/** The last cell of a row: a file, and the name of a test in it. */
const ROW = /\| `([^`]+\.test\.ts)`: (.+?) \|$/;

export const securityTests: Rule = {
  name: 'each threat of the security page has its test',
  *check(tree) {
    const page = tree.get(PAGE);
    for (const [index, line] of (page?.lines ?? []).entries()) {
      if (!line.startsWith('| ') || line.startsWith('| ---') || line.startsWith('| threat')) continue;
      const [, path, name] = ROW.exec(line) ?? [];
      if (path === undefined || name === undefined) {
        yield { path: PAGE, line: index + 1, message: 'names no test' };
      } else if (!isThere(tree.get(path)?.lines ?? [], name)) {
        yield { path: PAGE, line: index + 1, message: `${path} has no test '${name}'` };
      }
    }
  },
};

/** By its name, or by one that begins with what varies. */
function isThere(lines: readonly string[], name: string): boolean {
  const told = lines.join('\n').replaceAll("\\'", "'");
  return (
    told.includes(`'${name}'`) || [...told.matchAll(/`\$\{\w+\} ([^`]+)`/g)].some(([, end]) => name.endsWith(end ?? ''))
  );
}
