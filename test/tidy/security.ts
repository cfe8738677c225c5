import { isInMissingCapability, type Rule } from './tree.ts';

const PAGE = 'docs/security.md';

/** The last cell of a table row: a test file and the title of a test in it. */
const ROW = /\| `([^`]+\.test\.ts)`: (.+?) \|$/;

export const securityTests: Rule = {
  name: 'each threat on the security page names an existing test',
  *check(tree) {
    const page = tree.get(PAGE);
    let isThreatTable = false;
    for (const [index, line] of (page?.lines ?? []).entries()) {
      if (line.startsWith('| threat')) isThreatTable = true;
      else if (!line.startsWith('| ')) isThreatTable = false;
      if (!isThreatTable || line.startsWith('| ---') || line.startsWith('| threat')) continue;
      const [, path, name] = ROW.exec(line) ?? [];
      if (path === undefined || name === undefined) {
        yield { path: PAGE, line: index + 1, message: 'names no test' };
      } else if (!isInMissingCapability(tree, path) && !hasTest(tree.get(path)?.lines ?? [], name)) {
        yield { path: PAGE, line: index + 1, message: `${path} has no test '${name}'` };
      }
    }
  },
};

/** Finds a test by its title, or by a title that begins with a variable. */
function hasTest(lines: readonly string[], name: string): boolean {
  const text = lines.join('\n').replaceAll("\\'", "'");
  return (
    text.includes(`'${name}'`) || [...text.matchAll(/`\$\{\w+\} ([^`]+)`/g)].some(([, end]) => name.endsWith(end ?? ''))
  );
}
