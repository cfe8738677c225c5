import { execFileSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Folders of system programs, which may be missing in PATH. */
const SYSTEM_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'];

/** Chosen: timeout of `ldd` in ms. */
const LDD_TIMEOUT_MS = 5_000;

/** Returns the path of a program, or undefined. */
export function findTool(name: string, path = process.env.PATH ?? ''): string | undefined {
  const folders = [...path.split(delimiter).filter((folder) => folder.startsWith('/')), ...SYSTEM_FOLDERS];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** Returns the paths of all programs, or the name of a missing one. */
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
  // The loop has found all names.
  return { tools: tools as Readonly<Record<Name, string>> };
}

/** Returns the shared libraries of a program, including the loader; none for a statically linked program. */
export function findLibraries(program: string): readonly string[] {
  const ldd = findTool('ldd');
  if (ldd === undefined) return [];
  try {
    const output = execFileSync(ldd, [program], {
      encoding: 'utf8',
      timeout: LDD_TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return [...new Set(output.match(/\/[^\s()]+/g) ?? [])].filter((path) => path !== program);
  } catch {
    return [];
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
