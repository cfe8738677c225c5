import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface TreeFile {
  /** From the root of the tree, with `/` on every system. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly lines: readonly string[];
}

/** The files of a tree by their paths. */
export type Tree = ReadonlyMap<string, TreeFile>;

export interface Finding {
  readonly path: string;
  /** Line number, from 1. */
  readonly line: number;
  readonly message: string;
}

export interface Rule {
  /** The name of the rule's test: what the rule guarantees. */
  readonly name: string;
  check(tree: Tree): Iterable<Finding>;
}

/** Folders of other projects, and of build results. */
const IGNORED = new Set(['node_modules', '.git', 'dist', '.cache', 'coverage']);

/** Reads every file under a folder once. Ignored folders are not opened: other processes may be writing there. */
export function readTree(root: string): Tree {
  return new Map(
    [...filesBelow(root)].toSorted().map((path) => {
      const full = join(root, path);
      return [path, { path, sizeBytes: statSync(full).size, lines: readFileSync(full, 'utf8').split('\n') }];
    }),
  );
}

function* filesBelow(root: string, folder = ''): Generator<string> {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    if (IGNORED.has(entry.name)) continue;
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(root, path);
    else if (entry.isFile() && !path.endsWith('.log')) yield path;
  }
}

/** Builds a tree from texts by path, for tests of the rules. */
export function makeTree(texts: Readonly<Record<string, string>>): Tree {
  return new Map(
    Object.entries(texts).map(([path, text]) => [
      path,
      { path, sizeBytes: Buffer.byteLength(text), lines: text.split('\n') },
    ]),
  );
}

export const isCode = (path: string): boolean => /\.(ts|mjs|js)$/.test(path);

export const isTest = (path: string): boolean =>
  path.startsWith('test/') || path.endsWith('.test.ts') || path.includes('/__fixtures__/') || isCapabilityTest(path);

/** Returns whether a path is in the test or bench folder of a capability, which corresponds to `test` or `bench`. */
export const isCapabilityTest = (path: string): boolean => /^src\/capabilities\/[^/]+\/(?:test|bench)\//.test(path);

/** Returns whether a path names a file of a capability that the tree does not have: pages may still describe it. */
export function isInMissingCapability(tree: Tree, path: string): boolean {
  const folder = /^src\/capabilities\/[^/]+(?=\/|$)/.exec(path)?.[0];
  return folder !== undefined && ![...tree.keys()].some((existing) => existing.startsWith(`${folder}/`));
}
