import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('gpu.ts', import.meta.url));

/**
 * A fake npm: packs a package whose one file is its own name and version; fails for packages listed in the file
 * `missing`.
 */
const NPM = `#!/bin/sh
here="$(dirname "$0")"
echo "$@" >> "$here/requested.txt"
if [ -e "$here/missing" ] && grep -qx "$2" "$here/missing"; then echo "npm error 404" >&2; exit 1; fi
mkdir -p "$here/package"
echo "$2" > "$here/package/binary"
tar -czf "$5/a.tgz" -C "$here" package
`;

const machine = `${{ win32: 'win', darwin: 'mac' }[String(process.platform)] ?? process.platform}-${process.arch}`;
const NAMES = ['vulkan', 'cuda', 'cuda-ext'].map((part) => `${machine}-${part}`);

/** Creates a checkout as `npm ci` leaves it, with stubs as npm links them. */
function makeCheckout(t: TestContext, names: readonly string[] = NAMES) {
  const root = mkdtempSync(join(tmpdir(), 'parley-gpu-'));
  t.after(() => rmSync(root, { recursive: true }));
  const scope = join(root, 'node_modules', '@node-llama-cpp');
  for (const folder of [join(root, 'scripts'), join(root, 'stubs', 'empty'), join(root, 'bin'), scope]) {
    mkdirSync(folder, { recursive: true });
  }
  cpSync(SCRIPT, join(root, 'scripts', 'gpu.ts'));
  writeFileSync(join(root, 'stubs', 'empty', 'package.json'), '{"name":"empty"}');
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  const optionalDependencies = Object.fromEntries(names.map((name) => [`@node-llama-cpp/${name}`, '3.2.1']));
  const lock = JSON.stringify({ packages: { 'node_modules/node-llama-cpp': { optionalDependencies } } });
  writeFileSync(join(root, 'package-lock.json'), lock);
  for (const name of NAMES) symlinkSync('../../stubs/empty', join(scope, name));
  writeFileSync(join(root, 'bin', 'npm'), NPM, { mode: 0o755 });
  return {
    root,
    scope,
    run: (...args: string[]) =>
      spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, 'scripts', 'gpu.ts'), ...args], {
        encoding: 'utf8',
        env: { PATH: [join(root, 'bin'), process.env['PATH']].join(delimiter) },
      }),
    /** Asserts that nothing outside node_modules has changed. */
    assertUntouched() {
      assert.equal(readFileSync(join(root, 'package.json'), 'utf8'), '{"type":"module"}');
      assert.equal(readFileSync(join(root, 'package-lock.json'), 'utf8'), lock);
      assert.deepEqual(readdirSync(join(root, 'stubs', 'empty')), ['package.json']);
      assert.deepEqual(readdirSync(join(root, 'node_modules')), ['@node-llama-cpp']);
    },
  };
}

test('replaces the stub by the build for this machine, in the locked version', (t) => {
  const { root, scope, run, assertUntouched } = makeCheckout(t);
  const { status, stdout, stderr } = run('vulkan');
  assert.equal(status, 0, stderr);
  assert.match(stdout, /engine: \{ gpu: auto \}/);
  assert.match(readFileSync(join(root, 'bin', 'requested.txt'), 'utf8'), /^pack \S+@3\.2\.1 --ignore-scripts /);
  assert.equal(
    readFileSync(join(scope, `${machine}-vulkan`, 'binary'), 'utf8'),
    `@node-llama-cpp/${machine}-vulkan@3.2.1\n`,
  );
  assert.ok(lstatSync(join(scope, `${machine}-cuda`)).isSymbolicLink());
  assertUntouched();
  assert.equal(run('vulkan').status, 0, 'a second time');
});

test('installs both packages of cuda, or none', (t) => {
  const { root, scope, run, assertUntouched } = makeCheckout(t);
  writeFileSync(join(root, 'bin', 'missing'), `@node-llama-cpp/${machine}-cuda-ext@3.2.1\n`);
  assert.notEqual(run('cuda').status, 0);
  assert.ok(lstatSync(join(scope, `${machine}-cuda`)).isSymbolicLink());
  assertUntouched();
  rmSync(join(root, 'bin', 'missing'));
  assert.equal(run('cuda').status, 0);
  for (const part of ['cuda', 'cuda-ext']) assert.ok(existsSync(join(scope, `${machine}-${part}`, 'binary')));
  assertUntouched();
});

test('refuses a missing or unknown build before anything is fetched', (t) => {
  const { root, run, assertUntouched } = makeCheckout(t, []);
  for (const [args, message] of [
    [[], /npm run gpu -- cuda \| vulkan/],
    [['metal'], /npm run gpu -- cuda \| vulkan/],
    [['vulkan'], /no vulkan build exists for /],
  ] as const) {
    const { status, stderr } = run(...args);
    assert.equal(status, 2);
    assert.match(stderr, message);
  }
  assert.ok(!existsSync(join(root, 'bin', 'requested.txt')));
  assertUntouched();
});
