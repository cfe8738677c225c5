import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What package.json names in `files`, and what npm adds by itself. */
const PUBLISHED = ['bin', 'catalogue', 'package.json', 'README.md', 'LICENSE', '.npmrc'];

describe('the published package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-package-'));
  const stage = join(folder, 'stage');
  const installed = join(folder, 'app', 'node_modules', 'parley');
  after(() => rmSync(folder, { recursive: true }));

  before(() => {
    // Staged outside the checkout: a dist left in it would not be the one of the next change.
    mkdirSync(stage);
    for (const name of PUBLISHED) {
      if (existsSync(join(root, name))) cpSync(join(root, name), join(stage, name), { recursive: true });
    }
    execFileSync(process.execPath, ['scripts/build.ts', '--out', join(stage, 'dist')], { cwd: root });
    execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: stage, stdio: 'pipe' });
    const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
    assert.ok(tarball, 'npm pack made no tarball');
    mkdirSync(installed, { recursive: true });
    execFileSync('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1']);
    symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'));
  });

  test('holds the command, the compiled code, the catalogue, the readme and the licence', () => {
    const threads = ['dist/engines/grammar-worker.js', 'dist/generation/answer-check-worker.js'];
    for (const path of ['bin/parley.js', 'dist/cli.js', ...threads, 'catalogue/models.json', 'README.md', 'LICENSE']) {
      assert.ok(existsSync(join(installed, path)), `${path} is missing`);
    }
    assert.ok(statSync(join(installed, 'bin/parley.js')).mode & 0o100, 'bin/parley.js is not executable');
  });

  test('holds no sources, no tests and no fixtures', () => {
    const paths = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter(
      (path) => !path.startsWith('node_modules'),
    );
    const unwanted = paths.filter((path) => /(^|\/)(src|test|__fixtures__)(\/|$)|\.test\.|\.ts$/.test(path));
    assert.deepEqual(unwanted, []);
  });

  // On the Node of this run, and on the one the shell has: an older one must find its way to a newer one.
  for (const [name, node] of [
    ['this Node', process.execPath],
    ['the Node on the PATH', 'node'],
  ] as const) {
    test(`runs on ${name}, without a warning`, () => {
      const run = spawnSync(node, [join(installed, 'bin/parley.js'), '--help'], { cwd: folder, encoding: 'utf8' });
      assert.equal(run.status, 0, run.stderr);
      assert.match(run.stdout, /Usage: parley/);
      assert.equal(run.stderr, '');
    });
  }

  test('passes a refusal on as the exit code', () => {
    const run = spawnSync('node', [join(installed, 'bin/parley.js'), 'no-such-command'], { encoding: 'utf8' });
    assert.notEqual(run.status, 0);
    assert.equal(run.signal, null);
  });
});
