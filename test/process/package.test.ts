import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Entries of `files` in package.json, and what npm always adds. */
const PUBLISHED = ['bin', 'catalogue', 'package.json', 'README.md', 'LICENSE', '.npmrc'];

describe('the published package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-package-'));
  const stage = join(folder, 'stage');
  const installed = join(folder, 'app', 'node_modules', 'parley');
  after(() => rmSync(folder, { recursive: true }));

  before(() => {
    // Staged outside of the checkout, because a later test must not find a dist folder of this run.
    mkdirSync(stage);
    for (const name of PUBLISHED) {
      if (existsSync(join(root, name))) cpSync(join(root, name), join(stage, name), { recursive: true });
    }
    execFileSync(process.execPath, ['scripts/build.ts', '--out', join(stage, 'dist')], { cwd: root });
    execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: stage, stdio: 'pipe' });
    const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
    assert.ok(tarball, 'npm pack created no tarball');
    mkdirSync(installed, { recursive: true });
    execFileSync('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1']);
    symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'));
  });

  test('contains the command, the compiled code, the catalogue, the readme and the license', () => {
    const threads = ['dist/engines/grammar-worker.js', 'dist/generation/answer-check-worker.js'];
    for (const path of ['bin/parley.js', 'dist/cli.js', ...threads, 'catalogue/models.json', 'README.md', 'LICENSE']) {
      assert.ok(existsSync(join(installed, path)), `${path} is missing`);
    }
    assert.ok(statSync(join(installed, 'bin/parley.js')).mode & 0o100, 'bin/parley.js is not executable');
  });

  test('contains no sources, tests or fixtures', () => {
    const paths = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter(
      (path) => !path.startsWith('node_modules'),
    );
    const unwanted = paths.filter((path) => /(^|\/)(src|test|__fixtures__)(\/|$)|\.test\.|\.ts$/.test(path));
    assert.deepEqual(unwanted, []);
  });

  // The Node of this run, and the one on the PATH: an older Node must find a newer one.
  for (const [name, node] of [
    ['this Node', process.execPath],
    ['the Node on the PATH', 'node'],
  ] as const) {
    test(`runs on ${name} without a warning`, () => {
      const run = spawnSync(node, [join(installed, 'bin/parley.js'), '--help'], { cwd: folder, encoding: 'utf8' });
      assert.equal(run.status, 0, run.stderr);
      assert.match(run.stdout, /Usage: parley/);
      assert.equal(run.stderr, '');
    });
  }

  test('exits with an error for an unknown command', () => {
    const run = spawnSync('node', [join(installed, 'bin/parley.js'), 'no-such-command'], { encoding: 'utf8' });
    assert.notEqual(run.status, 0);
    assert.equal(run.signal, null);
  });
});
