import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where system programs lie whose folder is in nobody's PATH. */
const SYSTEM_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** Ours: ms for the system's loader to tell what a program needs. */
const LOADER_MS = 5_000;

/** The program of that name; undefined: there is none. */
export function findTool(name: string, path = process.env.PATH ?? ''): string | undefined {
  const folders = [...path.split(delimiter).filter((folder) => folder.startsWith('/')), ...SYSTEM_FOLDERS];
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** All of them, or the name of one that is not there. */
export function findTools<Name extends string>(
  names: readonly Name[],
  path?: string,
): { readonly tools: Readonly<Record<Name, string>> } | { readonly missing: Name } {
  const tools: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const found = findTool(name, path);
    if (found === undefined) return { missing: name };
    tools[name] = found;
  }
  // Each of the names was found.
  return { tools: tools as Readonly<Record<Name, string>> };
}

/** The files that the system's loader puts together with a program, itself among them; none where it is linked as one. */
export function librariesOf(program: string): readonly string[] {
  const ldd = findTool('ldd');
  if (ldd === undefined) return [];
  try {
    const told = execFileSync(ldd, [program], {
      encoding: 'utf8',
      timeout: LOADER_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return [...new Set(told.match(/\/[^\s()]+/g) ?? [])].filter((path) => path !== program);
  } catch {
    return [];
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
