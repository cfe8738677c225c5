import { isCode, isTest, type Rule } from './tree.ts';

interface WordingRule {
  readonly name: string;
  readonly pattern: RegExp;
  readonly message: string;
  readonly applies: (path: string) => boolean;
}

const OURS = /^(src|test|bench|scripts|bin|docs|\.ci)\/|^[^/]+\.md$/;

/**
 * Each is looked for line by line. A letter stands in brackets where a pattern would find itself in this file.
 */
const WORDING: readonly WordingRule[] = [
  {
    name: 'only commands and the main files of processes print',
    pattern: /\bconsole\.\w+\(/,
    message: 'prints; what happened goes to the log',
    applies: (path) =>
      path.startsWith('src/') && !isTest(path) && !/^src\/(commands\/|cli\.ts$|engines\/\w+\/process\.ts$)/.test(path),
  },
  {
    name: 'what is left to do has an issue number',
    pattern: /\b(TOD[O]|FIXM[E]|XX[X])\b(?!.*#\d)/,
    message: 'names no issue',
    applies: (path) => OURS.test(path),
  },
  {
    name: 'nothing names the place it was written in',
    pattern: /(?<![\w.-])\/wor[k]\/|(?<![\w)\]])\.librar[y]\b|\/tm[p]\/w\b/,
    message: 'names a place that no other machine has',
    applies: (path) => OURS.test(path) || path.endsWith('.json'),
  },
  {
    name: 'no package registry is named, except as a default of the configuration',
    pattern: /\b(npmj[s]\.(org|com)|pyp[i]\.org|pythonhoste[d]\.org)\b/,
    message: 'names a package registry',
    applies: (path) => OURS.test(path) && !path.startsWith('src/config/'),
  },
  {
    name: 'no test sleeps',
    pattern:
      /\bnew Promise\b.*\bsetTimeout\(|\bawait (setTimeout|sleep|delay|wait)\(|\bsetTimeout\b.*from 'node:timers\/promises'/,
    message: 'sleeps; listen, hand in a clock, or use test/until.ts',
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
