// Writes the tarball of the published package: `npm run package`, or with `-- --out FOLDER` into another folder than this.
// It holds the dependencies in the versions of the lock file; only platform packages are left to npm. It is staged
// outside of the checkout, whose package.json differs (docs/decisions/0038-pinned-node-and-package.md).
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

/** A package.json, as far as this script reads it. */
interface PackageManifest {
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
}

/** A package in the lock file. Its path begins with `node_modules/`, except that of this project and of the stubs. */
interface LockedPackage {
  readonly version: string;
  readonly dev?: boolean;
  /** Hash of a package from the registry; a stub of this checkout has none. */
  readonly integrity?: string;
  /** Present on a package for one platform. */
  readonly cpu?: readonly string[];
}

/** Builds of the engine's library for a GPU: 450 MB on Linux x64. The processor's build suffices for `parley` to run. */
const GPU_BUILD = /-(?:cuda|cuda-ext|vulkan)$/;

/** The compiler, an optional peer of the engine's library. The lock file marks it as needed. */
const COMPILER = /^node_modules\/(?:@typescript\/|typescript$)/;

/** Fields of package.json that matter in a checkout only. */
const CHECKOUT_FIELDS = ['scripts', 'devDependencies', 'overrides'];

/** Fields of a bundled package that do not apply: `parley` brings its own Node, runs no install script, and lists platform packages. */
const BUNDLED_FIELDS = ['engines', 'scripts', 'optionalDependencies', 'devDependencies'];

const root = fileURLToPath(new URL('..', import.meta.url));

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}

function writeManifest(folder: string, value: object, omitted: readonly string[]): void {
  const fields = Object.entries(value).filter(([name]) => !omitted.includes(name));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(Object.fromEntries(fields), undefined, 2)}\n`);
}

/** Copies a locked package without the packages nested in it, which the lock file lists themselves. */
function copyPackage(path: string, stage: string): void {
  const source = join(root, path);
  cpSync(source, join(stage, path), {
    recursive: true,
    filter: (entry) => entry !== join(source, 'node_modules'),
  });
  writeManifest(join(stage, path), readJson<object>(join(source, 'package.json')), BUNDLED_FIELDS);
}

const { values } = parseArgs({ options: { out: { type: 'string', default: process.cwd() } } });
const stage = mkdtempSync(join(tmpdir(), 'parley-package-'));
try {
  const manifest = readJson<PackageManifest>(join(root, 'package.json'));
  const lock = readJson<{ packages: Record<string, LockedPackage> }>(join(root, 'package-lock.json'));
  const locked = Object.entries(lock.packages).filter(
    ([path, { dev, integrity }]) => integrity !== undefined && dev !== true && !COMPILER.test(path),
  );
  for (const [path, { cpu }] of locked) if (!cpu) copyPackage(path, stage);
  const platformPackages = locked
    .filter(([path, { cpu }]) => cpu && !GPU_BUILD.test(path))
    .map(([path, { version }]) => [path.slice('node_modules/'.length), version] as const);

  execFileSync(process.execPath, ['scripts/build.ts', '--out', join(stage, 'dist')], { cwd: root, stdio: 'inherit' });
  for (const name of [...manifest.files, 'LICENSE']) {
    if (name !== 'dist') cpSync(join(root, name), join(stage, name), { recursive: true });
  }
  const published = {
    ...manifest,
    optionalDependencies: Object.fromEntries(platformPackages),
    bundleDependencies: Object.keys(manifest.dependencies),
  };
  writeManifest(stage, published, CHECKOUT_FIELDS);
  // On Windows npm is a script, which can be started only through a shell.
  const isWindows = process.platform === 'win32';
  const out = resolve(values.out);
  const options = ['--ignore-scripts', '--loglevel=error', '--pack-destination', isWindows ? `"${out}"` : out];
  execFileSync('npm', ['pack', ...options], { cwd: stage, stdio: 'inherit', shell: isWindows });
} finally {
  rmSync(stage, { recursive: true, force: true });
}
