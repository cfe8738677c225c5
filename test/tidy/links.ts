import { posix } from 'node:path';
import { isCode, isInMissingCapability, type Rule, type Tree } from './tree.ts';

/** A path in the repository that a comment names, e.g. `docs/wire/realtime.md#recognition-messages`. */
const PATH_IN_COMMENT = /(?<![\w/.-])docs\/[\w./-]+\.md(?:#[\w-]+)?/g;

/** The target of a Markdown link or image. */
const MARKDOWN_TARGET = /\]\(([^)\s]+)\)/g;

/** A path from the root of the repository in a code span of a document; NAME, FAMILY and NNNN are placeholders. */
const PATH_IN_DOCUMENT =
  /`(?![^`]*\b(?:NAME|FAMILY|NNNN))((?:src|test|bench|scripts|docs|examples|bin|catalogue)\/[\w./-]+)`/g;

/** Documents outside the repository: whoever reads a comment cannot open them. */
const OUTSIDE_DOCUMENT = /\b(wire|decisions|design|models|interfaces)\.(md|txt)\b|\bissue \d+\/\d+|\b[E]\d\d?\.\d\b/;

/** A fenced block or a code span; links are not looked for in them. */
const FENCE = /^\s*(```|~~~)/;

export const links: Rule = {
  name: 'every link, anchor and path in comments and documents exists',
  *check(tree) {
    const anchors = new Map<string, ReadonlySet<string>>();
    const folders = new Set([...tree.keys()].flatMap(parentFolders));
    const isMissing = (path: string, anchor: string | undefined): boolean => {
      const exists = tree.has(path) || folders.has(path.replace(/\/$/, ''));
      if (!exists || anchor === undefined) return !exists;
      const known = anchors.get(path) ?? headingAnchors(tree.get(path)?.lines ?? []);
      anchors.set(path, known);
      return !known.has(anchor);
    };
    for (const { path, line, target } of findLinks(tree)) {
      const [file = '', anchor] = target.split('#');
      if (isMissing(file, anchor) && !isInMissingCapability(tree, file))
        yield { path, line, message: `links to ${target}, which does not exist` };
    }
  },
};

export const outsideDocuments: Rule = {
  name: 'no comment or document cites a document that is not in the repository',
  *check(tree) {
    for (const { path, lines } of tree.values()) {
      if (!isChecked(path)) continue;
      for (const [index, line] of lines.entries()) {
        const cited = OUTSIDE_DOCUMENT.exec(path.endsWith('.md') ? line : (getComment(line) ?? ''));
        if (cited) yield { path, line: index + 1, message: `cites ${cited[0]}; state the fact or link docs/wire` };
      }
    }
  },
};

/** The folders that contain a file: of `a/b/c.ts`, `a` and `a/b`. */
function parentFolders(path: string): readonly string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

const isChecked = (path: string): boolean =>
  /^(src|test|bench|scripts|docs|bin|examples)\/|^[^/]+\.md$/.test(path) &&
  !path.includes('/__fixtures__/') &&
  (isCode(path) || path.endsWith('.md'));

/** The anchors of a page's headings, as code hosts derive them: lower case, blanks as hyphens, punctuation dropped. */
function headingAnchors(lines: readonly string[]): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const text of outsideFences(lines)) {
    const heading = /^#{1,6}\s+(.+?)\s*$/.exec(text.line)?.[1];
    if (heading === undefined) continue;
    const words = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '');
    anchors.add(words.replaceAll(/\s/g, '-'));
  }
  return anchors;
}

function* findLinks(tree: Tree): Generator<{ path: string; line: number; target: string }> {
  for (const { path, lines } of tree.values()) {
    if (!isChecked(path)) continue;
    if (path.endsWith('.md')) {
      for (const { line, number } of outsideFences(lines)) {
        for (const [, target = ''] of line.replaceAll(/`[^`]*`/g, '').matchAll(MARKDOWN_TARGET)) {
          if (/^[a-z]+:/.test(target)) continue;
          const [file = '', anchor] = target.split('#');
          const full = file === '' ? path : posix.normalize(posix.join(posix.dirname(path), file));
          yield { path, line: number, target: anchor === undefined ? full : `${full}#${anchor}` };
        }
        for (const [, target = ''] of line.matchAll(PATH_IN_DOCUMENT)) yield { path, line: number, target };
      }
      continue;
    }
    for (const [index, line] of lines.entries()) {
      for (const [target] of (getComment(line) ?? '').matchAll(PATH_IN_COMMENT)) {
        yield { path, line: index + 1, target };
      }
    }
  }
}

function* outsideFences(lines: readonly string[]): Generator<{ line: string; number: number }> {
  let isInCode = false;
  for (const [index, line] of lines.entries()) {
    if (FENCE.test(line)) isInCode = !isInCode;
    else if (!isInCode) yield { line, number: index + 1 };
  }
}

/** The comment of a line: all of a line in a block comment, or the text after `//`. Undefined: the line has none. */
function getComment(line: string): string | undefined {
  return /^\s*(?:\/?\*.*|\/\/.*)$/.exec(line)?.[0] ?? /(?:^|\s)\/\/\s.*$/.exec(line)?.[0];
}
