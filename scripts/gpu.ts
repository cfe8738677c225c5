// Puts a GPU build of the engine's library into node_modules: `npm run gpu -- vulkan`, or `-- cuda`.
// package.json and its lock stay as they are, so `npm ci` takes it out again (docs/decisions/0002-lean-install.md).
import { execFileSync, type ExecFileSyncOptions } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What each kind is made of, by the end of the packages' names. */
const PARTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['cuda', ['cuda', 'cuda-ext']],
  ['vulkan', ['vulkan']],
]);

const SCOPE = '@node-llama-cpp';

const root = fileURLToPath(new URL('..', import.meta.url));
const installed = join(root, 'node_modules', SCOPE);

/** Words of this library for what Node calls otherwise. */
const PLATFORMS: Readonly<Record<string, string>> = { win32: 'win', darwin: 'mac' };

/** Windows finds npm, which is a script there, only by way of a shell. */
const npmOptions: ExecFileSyncOptions = {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
  shell: process.platform === 'win32',
};

function refuse(why: string): never {
  console.error(`gpu: ${why}`);
  process.exit(2);
}

/** Versions of the library's platform packages. */
function lockedVersions(): Readonly<Record<string, string>> {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { optionalDependencies?: Readonly<Record<string, string>> }>>;
  };
  return lock.packages['node_modules/node-llama-cpp']?.optionalDependencies ?? {};
}

function choosePackages(kind: string | undefined): readonly { name: string; version: string }[] {
  const parts = PARTS.get(kind ?? '');
  if (!parts) return refuse(`say which one: npm run gpu -- ${[...PARTS.keys()].join(' | ')}`);
  const machine = `${PLATFORMS[process.platform] ?? process.platform}-${process.arch}`;
  const versions = lockedVersions();
  return parts.map((part) => {
    const name = `${machine}-${part}`;
    const version = versions[`${SCOPE}/${name}`];
    if (version === undefined) return refuse(`there is no ${kind} build for ${machine}`);
    return { name, version };
  });
}

const packages = choosePackages(process.argv[2]);
if (!readdirSync(join(root, 'node_modules')).includes(SCOPE)) refuse('run npm ci first');
// On the volume that the packages come to, so that they get their names in one step.
const work = mkdtempSync(join(root, 'node_modules', '.gpu-'));
try {
  for (const { name, version } of packages) {
    console.log(`Fetching ${SCOPE}/${name}@${version} …`);
    const tarballs = join(work, `${name}.tarball`);
    mkdirSync(tarballs);
    const flags = ['--ignore-scripts', '--pack-destination', tarballs, '--loglevel=error'];
    execFileSync('npm', ['pack', `${SCOPE}/${name}@${version}`, ...flags], npmOptions);
    const [tarball] = readdirSync(tarballs);
    if (tarball === undefined) throw new Error(`npm pack left nothing of ${name}.`);
    mkdirSync(join(work, name));
    execFileSync('tar', ['-xzf', join(tarballs, tarball), '-C', join(work, name), '--strip-components=1']);
    rmSync(tarballs, { recursive: true });
  }
  // All are there: only now one is exchanged. The stub is a link to stubs/empty, and it is the link that goes.
  for (const { name } of packages) {
    rmSync(join(installed, name), { recursive: true, force: true });
    renameSync(join(work, name), join(installed, name));
    console.log(`Put in place: node_modules/${SCOPE}/${name}`);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
console.log('Now set in parley.yaml:\n  engine: { gpu: auto }\n`npm ci` takes the build out again.');
