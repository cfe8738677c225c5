// Writes what the published package holds into dist; npm runs it before `npm pack` and `npm publish`. It compiles the
// sources, and copies the packages that they import, in the versions of the lock file, into dist/node_modules
// (docs/decisions/0038-pinned-node-and-package.md).
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** A package in the lock file. Its path begins with `node_modules/`, except that of this project and of the stubs. */
interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

type LockedPackages = ReadonlyMap<string, LockedPackage>;

/** Import of a package in compiled code, with the name of the package. */
const PACKAGE_IMPORT = /\b(?:from |import |import\(|resolve\()'((?:@[\w.-]+\/)?[\w-][\w.-]*)/g;

/**
 * Files of a package that `parley` never reads: declarations, source maps, pages, what npm would take for ignore rules, and
 * the history of llama.cpp, from which the engine's library can compile itself (35 MB).
 */
const UNREAD_FILE = /\.(?:map|ts|mts|cts|md)$|^\.(?:git|npm)ignore$|^gitRelease\.bundle$/;

/** Files that must accompany a copy of a package. */
const LICENSE_FILE = /licen[cs]e|notice|copying/i;

const root = fileURLToPath(new URL('..', import.meta.url));

/** Returns the names of all packages that a folder of compiled code imports. */
function findImportedPackages(folder: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.js')) continue;
    const code = readFileSync(join(folder, path), 'utf8');
    for (const [, name] of code.matchAll(PACKAGE_IMPORT)) if (name !== undefined) names.add(name);
  }
  return names;
}

/** Returns the path of the package that Node finds for an import, searching upward as Node does; undefined if there is none. */
function resolvePackage(packages: LockedPackages, importer: string, name: string): string | undefined {
  for (let folder = importer; ;) {
    const path = posixJoin(folder, name);
    if (packages.has(path)) return path;
    if (folder === '') return undefined;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')));
  }
}

function posixJoin(folder: string, name: string): string {
  return `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
}

/** Adds the path of a package and those of all packages that it needs. */
function addPackage(packages: LockedPackages, path: string, found: Set<string>): void {
  if (found.has(path)) return;
  found.add(path);
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = packages.get(path) ?? {};
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  for (const name of [...Object.keys(dependencies), ...peers]) {
    const needed = resolvePackage(packages, path, name);
    if (needed === undefined)
      throw new Error(`${path} needs ${name}, which the lock file does not have. Run npm install.`);
    addPackage(packages, needed, found);
  }
}

/** Copies a package without the packages nested in it, which the lock file lists themselves. */
function copyPackage(path: string, dist: string): void {
  const source = join(root, path);
  cpSync(source, join(dist, path), {
    recursive: true,
    filter: (entry) =>
      relative(source, entry) !== 'node_modules' &&
      (!UNREAD_FILE.test(basename(entry)) || LICENSE_FILE.test(basename(entry))),
  });
}

const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'dist') } } });
const dist = values.out;
execFileSync(process.execPath, ['scripts/build.ts', '--out', dist], { cwd: root, stdio: 'inherit' });

const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const packages = new Map(Object.entries(lock.packages));
const needed = new Set<string>();
for (const name of findImportedPackages(dist)) {
  const path = posixJoin('', name);
  if (packages.has(path)) addPackage(packages, path, needed);
}
for (const path of needed) copyPackage(path, dist);
