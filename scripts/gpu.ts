// Installs a GPU build of the engine's library into node_modules: `npm run gpu -- vulkan`, or `-- cuda`.
// package.json and its lock file stay unchanged, so `npm ci` removes the build again
// (docs/decisions/0002-lean-install.md).
import { execFileSync, type ExecFileSyncOptions } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Package name suffixes of each kind of build. */
const PARTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['cuda', ['cuda', 'cuda-ext']],
  ['vulkan', ['vulkan']],
]);

const SCOPE = '@node-llama-cpp';

const root = fileURLToPath(new URL('..', import.meta.url));
const installed = join(root, 'node_modules', SCOPE);

/** The library's names of platforms that differ from Node's. */
const PLATFORMS: Readonly<Record<string, string>> = { win32: 'win', darwin: 'mac' };

/** On Windows npm is a script, which can be started only through a shell. */
const npmOptions: ExecFileSyncOptions = {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
  shell: process.platform === 'win32',
};

function exitWithError(why: string): never {
  console.error(`gpu: ${why}`);
  process.exit(2);
}

/** Reads the locked versions of the library's platform packages. */
function readLockedVersions(): Readonly<Record<string, string>> {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { optionalDependencies?: Readonly<Record<string, string>> }>>;
  };
  return lock.packages['node_modules/node-llama-cpp']?.optionalDependencies ?? {};
}

function findPackages(kind: string | undefined): readonly { name: string; version: string }[] {
  const parts = PARTS.get(kind ?? '');
  if (!parts) return exitWithError(`name the build: npm run gpu -- ${[...PARTS.keys()].join(' | ')}`);
  const machine = `${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`;
  const versions = readLockedVersions();
  return parts.map((part) => {
    const name = `${machine}-${part}`;
    const version = versions[`${SCOPE}/${name}`];
    if (version === undefined) return exitWithError(`no ${kind} build exists for ${machine}`);
    return { name, version };
  });
}

const packages = findPackages(process.argv[2]);
if (!readdirSync(join(root, 'node_modules')).includes(SCOPE)) exitWithError('run npm ci first');
// A folder on the same volume as the packages, so that each package is moved into place in one step.
const work = mkdtempSync(join(root, 'node_modules', '.gpu-'));
try {
  for (const { name, version } of packages) {
    console.log(`Fetching ${SCOPE}/${name}@${version} …`);
    const tarballs = join(work, `${name}.tarball`);
    mkdirSync(tarballs);
    const flags = ['--ignore-scripts', '--pack-destination', tarballs, '--loglevel=error'];
    execFileSync('npm', ['pack', `${SCOPE}/${name}@${version}`, ...flags], npmOptions);
    const [tarball] = readdirSync(tarballs);
    if (tarball === undefined) throw new Error(`npm pack wrote no tarball for ${name}.`);
    mkdirSync(join(work, name));
    execFileSync('tar', ['-xzf', join(tarballs, tarball), '-C', join(work, name), '--strip-components=1']);
    rmSync(tarballs, { recursive: true });
  }
  // Packages are replaced only after all are unpacked. The stub is a link to stubs/empty; only the link is removed.
  for (const { name } of packages) {
    rmSync(join(installed, name), { recursive: true, force: true });
    renameSync(join(work, name), join(installed, name));
    console.log(`Installed: node_modules/${SCOPE}/${name}`);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
console.log('Now set in parley.yaml:\n  engine: { gpu: auto }\n`npm ci` removes the build again.');
