import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { ServiceError } from '../core/error.ts';
import { SETTINGS } from './settings.ts';
import { getIn, isTree, setIn, type Tree } from './tree.ts';

/** The text of a file, or undefined where there is none. */
export type ReadFile = (path: string) => string | undefined;

export const readTextFile: ReadFile = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new ServiceError('invalid-request', `The configuration file ${path} cannot be read.`, { cause: error });
  }
};

/** Sections that the catalogue parses: nothing in them is touched. */
export const OPAQUE_SECTIONS: ReadonlySet<string> = new Set(['models', 'weights', 'aliases']);

/**
 * The file's mapping with its paths resolved. A setting without a value counts as left out.
 * @throws ServiceError `invalid-request` with the place of a syntax error, but never the line itself: it may hold a secret.
 */
export function parseConfigFile(path: string, text: string): Tree {
  const document = parseDocument(text);
  const [problem] = document.errors;
  const tree: unknown = problem ? undefined : (document.toJS() ?? {});
  if (problem || !isTree(tree)) {
    const [reason] = problem ? problem.message.split('\n') : ['a mapping from settings to values is expected'];
    throw new ServiceError('invalid-request', `The configuration file ${path} cannot be understood: ${reason}`);
  }
  const settings = withoutEmpty(tree);
  for (const { path: dotted, type } of SETTINGS) {
    const names = dotted.split('.');
    const value = getIn(settings, names);
    if (type === 'path' && typeof value === 'string') setIn(settings, names, resolveIn(dirname(path), value));
    if (type === 'paths' && Array.isArray(value)) {
      const items: readonly unknown[] = value;
      setIn(
        settings,
        names,
        items.map((item) => (typeof item === 'string' ? resolveIn(dirname(path), item) : item)),
      );
    }
  }
  return settings;
}

function withoutEmpty(tree: Tree, isTop = true): Tree {
  return Object.fromEntries(
    Object.entries(tree)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => {
        const isOpaque = isTop && OPAQUE_SECTIONS.has(name);
        return [name, isTree(value) && !isOpaque ? withoutEmpty(value, false) : value];
      }),
  );
}

/** No shell has expanded the `~` in a file. An empty text stays empty: the schema refuses it. */
function resolveIn(folder: string, path: string): string {
  if (path === '') return path;
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(folder, path);
}
