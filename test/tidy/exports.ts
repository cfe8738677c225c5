import { isCode, type Rule } from './tree.ts';

const EXPORT = /^export (?:async )?(?:const|function\*?|class) (\w+)/;

export const usedExports: Rule = {
  name: 'every export is used by another file',
  *check(tree) {
    const code = [...tree.values()].filter(({ path }) => isCode(path));
    const fileCounts = new Map<string, number>();
    for (const { lines } of code) {
      for (const word of new Set(lines.join('\n').match(/[A-Za-z_$][\w$]*/g))) {
        fileCounts.set(word, (fileCounts.get(word) ?? 0) + 1);
      }
    }
    for (const { path, lines } of code) {
      if (!path.startsWith('src/')) continue;
      for (const [index, line] of lines.entries()) {
        const name = EXPORT.exec(line)?.[1];
        if (name !== undefined && fileCounts.get(name) === 1) {
          yield { path, line: index + 1, message: `${name} is used by no other file` };
        }
      }
    }
  },
};
