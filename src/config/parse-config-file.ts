import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import { ServiceError } from '../core/error.ts';
import { SETTINGS } from './settings.ts';
import { setIn, type ConfigTree } from './tree.ts';
import { isRecord } from '../lib/is-record.ts';
import { getErrorCode } from '../lib/error-code.ts';
import { getValueAt } from '../lib/get-value-at.ts';

/** Reads a text file. @returns undefined when the file does not exist. */
export type ReadTextFile = (path: string) => string | undefined;

export const readTextFile: ReadTextFile = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return undefined;
    throw new ServiceError('invalid-request', `The configuration file ${path} cannot be read. Check its permissions.`, {
      cause: error,
    });
  }
};

/** Sections that the catalogue parses. They are left unchanged here. */
export const OPAQUE_SECTIONS: ReadonlySet<string> = new Set(['models', 'weights', 'aliases']);

/**
 * Parses the configuration file and resolves its paths. A setting without a value counts as absent.
 * @throws ServiceError `invalid-request` with the position of a syntax error, without the line, which may contain a
 * secret.
 */
export function parseConfigFile(path: string, text: string): ConfigTree {
  const document = parseDocument(text);
  const [problem] = document.errors;
  const tree: unknown = problem ? undefined : (document.toJS() ?? {});
  if (problem || !isRecord(tree)) {
    const [reason] = problem ? problem.message.split('\n') : ['a mapping of settings to values is expected'];
    throw new ServiceError('invalid-request', `The configuration file ${path} is invalid: ${reason}`);
  }
  const settings = omitEmpty(tree);
  for (const { path: dotted, type } of SETTINGS) {
    const names = dotted.split('.');
    const value = getValueAt(settings, names);
    if (type === 'path' && typeof value === 'string') setIn(settings, names, resolveFrom(dirname(path), value));
    if (type === 'paths' && Array.isArray(value)) {
      const items: readonly unknown[] = value;
      setIn(
        settings,
        names,
        items.map((item) => (typeof item === 'string' ? resolveFrom(dirname(path), item) : item)),
      );
    }
  }
  return settings;
}

function omitEmpty(tree: ConfigTree, isTop = true): ConfigTree {
  return Object.fromEntries(
    Object.entries(tree)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => {
        const isOpaque = isTop && OPAQUE_SECTIONS.has(name);
        return [name, isRecord(value) && !isOpaque ? omitEmpty(value, false) : value];
      }),
  );
}

/** Resolves a path of the file, and expands `~`. An empty path stays empty, and the schema rejects it. */
function resolveFrom(folder: string, path: string): string {
  if (path === '') return path;
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(folder, path);
}
