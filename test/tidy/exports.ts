import { isCode, type Rule } from './tree.ts';

const EXPORT = /^export (?:async )?(?:const|function\*?|class) (\w+)/;

export const usedExports: Rule = {
  name: 'every export is used by another file',
  *check(tree) {
    const code = [...tree.values()].filter(({ path }) => isCode(path));
    const users = new Map<string, Set<string>>();
    for (const { path, lines } of code) {
      for (const word of lines.join('\n').match(/[A-Za-z_$][\w$]*/g) ?? []) {
        const paths = users.get(word) ?? new Set();
        users.set(word, paths.add(path));
      }
    }
    for (const { path, lines } of code) {
      if (!path.startsWith('src/')) continue;
      for (const [index, line] of lines.entries()) {
        const name = EXPORT.exec(line)?.[1];
        if (name !== undefined && users.get(name)?.size === 1) {
          yield { path, line: index + 1, message: `${name} is used by no other file` };
        }
      }
    }
  },
};
