import { isCode, isTest, type Rule } from './tree.ts';

interface WordingRule {
  readonly name: string;
  readonly pattern: RegExp;
  readonly message: string;
  readonly applies: (path: string) => boolean;
}

const CHECKED = /^(src|test|bench|scripts|bin|docs|examples|\.ci)\/|^[^/]+\.md$/;

/** Patterns searched line by line. A letter stands in brackets where a pattern would otherwise match this file. */
const WORDING: readonly WordingRule[] = [
  {
    name: 'only commands and the main files of processes write to the console',
    pattern: /\bconsole\.\w+\(/,
    message: 'writes to the console; use the log',
    applies: (path) =>
      path.startsWith('src/') && !isTest(path) && !/^src\/(commands\/|cli\.ts$|engines\/\w+\/process\.ts$)/.test(path),
  },
  {
    name: 'a to-do comment names its issue',
    pattern: /\b(TOD[O]|FIXM[E]|XX[X])\b(?!.*#\d)/,
    message: 'names no issue',
    applies: (path) => CHECKED.test(path),
  },
  {
    name: 'no file names a path of the machine it was written on',
    pattern: /(?<![\w.-])\/wor[k]\/|(?<![\w)\]])\.librar[y]\b|\/tm[p]\/w\b/,
    message: 'names a path that exists on one machine only',
    applies: (path) => CHECKED.test(path) || path.endsWith('.json'),
  },
  {
    name: 'no file names a package registry, except as a default of the configuration',
    pattern: /\b(npmj[s]\.(org|com)|pyp[i]\.org|pythonhoste[d]\.org)\b/,
    message: 'names a package registry',
    applies: (path) => CHECKED.test(path) && !path.startsWith('src/config/'),
  },
  {
    name: 'no test sleeps',
    pattern:
      /\bnew Promise\b.*\bsetTimeout\(|\bawait (setTimeout|sleep|delay|wait)\(|\bsetTimeout\b.*from 'node:timers\/promises'/,
    message: 'sleeps; wait for an event, inject a clock, or use test/until.ts',
    applies: (path) => isTest(path) && isCode(path) && path !== 'test/until.ts',
  },
];

export const wordingRules: readonly Rule[] = WORDING.map(({ name, pattern, message, applies }) => ({
  name,
  *check(tree) {
    for (const { path, lines } of tree.values()) {
      if (!applies(path)) continue;
      for (const [index, line] of lines.entries()) {
        if (pattern.test(line)) yield { path, line: index + 1, message };
      }
    }
  },
}));

/** A word that begins a fragment of a sentence, at the beginning of a comment. */
const FRAGMENT = /^\s*(?:\/\*\*|\*|\/\/) (?:Of|What|Who|Whoever|Whose|Where|Behind|Those|With|Nobody|Somebody) /;

/** Whether a line continues the comment of the line above. */
const continuesComment = (above: string, line: string): boolean =>
  /^\s*\/\//.test(line) ? /^\s*\/\//.test(above) : /^\s*\*/.test(line) && !/^\s*\/\*\*?\s*$/.test(above);

export const commentStarts: Rule = {
  name: 'a comment begins with its subject or its verb',
  *check(tree) {
    for (const { path, lines } of tree.values()) {
      if (!isCode(path) || !CHECKED.test(path)) continue;
      for (const [index, line] of lines.entries()) {
        if (FRAGMENT.test(line) && !continuesComment(lines[index - 1] ?? '', line)) {
          yield { path, line: index + 1, message: 'begins with a fragment; name the subject' };
        }
      }
    }
  },
};
