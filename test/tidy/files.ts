import { posix } from 'node:path';
import { isCode, type Rule } from './tree.ts';

/** Size limit of a file in bytes. A longer file is data that belongs elsewhere, or holds more than one idea. */
const FILE_BYTES_MAX = 128 * 1024;

/** File names, or words of them, that say nothing about the content. */
const EMPTY_NAME = /^(.*-)?(utils?|helpers?|manager|common|misc)(-.*)?$|^(data|info)$/;

export const fileNames: Rule = {
  name: 'a file is named after what it exports',
  *check(tree) {
    for (const path of tree.keys()) {
      if (!isCode(path)) continue;
      const empty = path.split('/').find((part) => EMPTY_NAME.test(part.replace(/(\.test)?\.\w+$/, '')));
      if (empty !== undefined) yield { path, line: 1, message: `${empty} says nothing about what is in it` };
    }
  },
};

/** Programs in the sandbox read it; a package cannot provide it (docs/decisions/0061-packages-for-programs.md). */
const TIME_ZONES = /^src\/capabilities\/code-interpreter\/child\/tzdata-[\d.]+-py2\.py3-none-any\.whl$/;

export const fileSizes: Rule = {
  name: 'no file is larger than 128 KB, except the lock file, fixtures and the archive of time zones',
  *check(tree) {
    for (const { path, sizeBytes } of tree.values()) {
      if (path === 'package-lock.json' || TIME_ZONES.test(path) || path.split('/').includes('__fixtures__')) continue;
      if (sizeBytes > FILE_BYTES_MAX) yield { path, line: 1, message: `has ${sizeBytes} bytes` };
    }
  },
};

/** Packages whose install script npm must not run, by the names that package.json denies. */
const DENIED_SCRIPT = /^ {4}"([^"]+)": false,?$/;

/** A lock file's line of a package, and of a package that has an install script. */
const LOCKED_PACKAGE = /^ {4}"(?:.*node_modules\/)?([^"]*)": \{$/;
const HAS_INSTALL_SCRIPT = /^ {6}"hasInstallScript": true,?$/;

export const installScripts: Rule = {
  name: 'package.json denies the install script of each package that has one',
  *check(tree) {
    for (const [path, { lines }] of tree) {
      if (posix.basename(path) !== 'package-lock.json') continue;
      const folder = posix.dirname(path);
      if (tree.get(posix.join(folder, '.npmrc'))?.lines.includes('ignore-scripts=true')) continue;
      const manifest = tree.get(posix.join(folder, 'package.json'))?.lines ?? [];
      const denied = new Set(manifest.map((line) => DENIED_SCRIPT.exec(line)?.[1]));
      let name = '';
      for (const [index, line] of lines.entries()) {
        name = LOCKED_PACKAGE.exec(line)?.[1] ?? name;
        if (HAS_INSTALL_SCRIPT.test(line) && !denied.has(name)) {
          yield { path, line: index + 1, message: `${name} has an install script, which package.json does not deny` };
        }
      }
    }
  },
};

/** One program with arguments that every shell reads alike: no operator, variable or quote. */
const PLAIN_COMMAND = /^(node|npm|oxfmt|oxlint)( [\w@./:=-]+)*$/;

export const packageScripts: Rule = {
  name: 'a package script is one plain command, which runs in every shell',
  *check(tree) {
    for (const { path, lines } of tree.values()) {
      if (posix.basename(path) !== 'package.json') continue;
      const start = lines.indexOf('  "scripts": {') + 1;
      if (start === 0) continue;
      for (let index = start; lines[index]?.startsWith('    '); index += 1) {
        const [, name, command = ''] = /^ {4}"([\w:-]+)": "(.*)",?$/.exec(lines[index] ?? '') ?? [];
        if (PLAIN_COMMAND.test(command)) continue;
        yield {
          path,
          line: index + 1,
          message: `the script ${name} is not node, npm, oxfmt or oxlint with plain arguments`,
        };
      }
    }
  },
};

/** The tour must stay short enough to be read in one sitting. */
const TOUR_LINES_MAX = 250;
const TOUR_LINE_CHARS_MAX = 120;

export const guidedTour: Rule = {
  name: 'ARCHITECTURE.md has at most 250 lines of at most 120 characters',
  *check(tree) {
    const path = 'ARCHITECTURE.md';
    const lines = tree.get(path)?.lines ?? [];
    if (lines.length > TOUR_LINES_MAX + 1) yield { path, line: lines.length, message: `has ${lines.length} lines` };
    for (const [index, { length }] of lines.entries()) {
      if (length > TOUR_LINE_CHARS_MAX) {
        yield {
          path,
          line: index + 1,
          message: `has ${length} characters; at most ${TOUR_LINE_CHARS_MAX} are allowed`,
        };
      }
    }
  },
};

export const markdownTitles: Rule = {
  name: 'a Markdown page has one title',
  *check(tree) {
    for (const { path, lines } of tree.values()) {
      if (!path.endsWith('.md')) continue;
      let isInCode = false;
      const titles: number[] = [];
      for (const [index, line] of lines.entries()) {
        if (/^\s*(```|~~~)/.test(line)) isInCode = !isInCode;
        else if (!isInCode && line.startsWith('# ')) titles.push(index + 1);
      }
      if (titles.length !== 1) yield { path, line: titles[1] ?? 1, message: `has ${titles.length} titles` };
    }
  },
};
