import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readPackageVersion } from '../../src/commands/read-package-version.ts';
import { getModelsFolder, getWeightsSkipReason } from '../models-folder.ts';
import { until } from '../until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Folders of a checkout that are not in its sources. */
const NOT_SOURCES = new Set(['.git', '.cache', 'node_modules', 'dist', 'coverage']);

/** Size limit of an installation in bytes. Half of it is the engine's library for the processor. */
const INSTALLED_BYTES_MAX = 150e6;

/** Time limits in ms. They only end a run that hangs: npm may have to fetch the engine's library. */
const NPM_MS_MAX = 170_000;
const READY_MS_MAX = 120_000;

const run = promisify(execFile);

/** Runs npm as a user does, with the Node on the PATH. @returns what it prints. */
async function runNpm(args: readonly string[], cwd: string): Promise<string> {
  const { stdout, stderr } = await run('npm', args, {
    cwd,
    timeout: NPM_MS_MAX,
    shell: process.platform === 'win32',
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout + stderr;
}

const listFiles = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => statSync(join(folder, path)).isFile());

/** The lock file, as far as these tests read it. */
const { packages: locked } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, { version: string; engines?: { node?: string } }>;
};

test('every locked package accepts each version of Node that Parley accepts', () => {
  const { subset } = createRequire(import.meta.url)('semver') as { subset(inner: string, outer: string): boolean };
  const accepted = locked['']?.engines?.node ?? '';
  assert.match(accepted, /\d/);
  const refusing = Object.entries(locked).filter(([, { engines }]) => !subset(accepted, engines?.node ?? '*'));
  assert.deepEqual(
    refusing.map(([path, { engines }]) => `${path}: ${engines?.node}`),
    [],
  );
});

describe('the published package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-package-'));
  const checkout = join(folder, 'checkout');
  const app = join(folder, 'app');
  const installed = join(app, 'node_modules', 'parley');
  const tarball = `parley-${readPackageVersion()}.tgz`;
  const command = join(app, 'node_modules', '.bin', 'parley');
  after(() => rmSync(folder, { recursive: true, maxRetries: 10 }));

  test('is complete after npm pack in a checkout that was not built', async () => {
    // A copy of the checkout, because a later test must not find a dist folder of this run.
    cpSync(root, checkout, {
      recursive: true,
      filter: (path) => !NOT_SOURCES.has(relative(root, path).split(sep)[0] ?? ''),
    });
    symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'), 'junction');
    await runNpm(['pack', '--pack-destination', folder], checkout);
    assert.ok(existsSync(join(folder, tarball)), `npm pack created no ${tarball}`);
  });

  test('installs into an empty folder without a warning about packages', async () => {
    mkdirSync(app);
    // `npm ci` has left the engine's library in npm's cache.
    const output = await runNpm(['install', '--prefer-offline', join(folder, tarball)], app);
    assert.doesNotMatch(output, /EBADENGINE|deprecated|allow-scripts|install scripts/);
  });

  test('contains the command, the compiled code, the catalogue, the pages, the readme and the license', () => {
    const threads = ['dist/engines/grammar-worker.js', 'dist/generation/answer-check-worker.js'];
    const pages = ['docs/README.md', 'README.md', 'LICENSE'];
    for (const path of ['bin/parley.js', 'dist/cli.js', ...threads, 'catalogue/models.json', ...pages]) {
      assert.ok(existsSync(join(installed, path)), `${path} is missing`);
    }
    assert.ok(statSync(join(installed, 'bin/parley.js')).mode & 0o100, 'bin/parley.js is not executable');
  });

  test('contains no sources, tests or fixtures', () => {
    const paths = listFiles(installed).filter((path) => !path.startsWith(join('dist', 'node_modules')));
    const unwanted = paths.filter((path) => /(^|\/)(src|test|__fixtures__)(\/|$)|\.test\.|\.ts$/.test(path));
    assert.deepEqual(unwanted, []);
  });

  test('contains the packages that it imports in the versions of the lock file, with their licenses', () => {
    for (const name of ['@aws-sdk/client-s3', 'kysely', 'node-llama-cpp', 'pyodide', 'zod']) {
      const bundled = join(installed, 'dist', 'node_modules', name);
      const { version } = JSON.parse(readFileSync(join(bundled, 'package.json'), 'utf8')) as { version: string };
      assert.equal(version, locked[`node_modules/${name}`]?.version, name);
    }
    assert.ok(existsSync(join(installed, 'dist', 'node_modules', 'zod', 'LICENSE')));
    for (const name of ['typescript', 'openai', 'ai']) {
      assert.ok(!existsSync(join(installed, 'dist', 'node_modules', name)), `${name} is not needed`);
    }
  });

  test('installs without GPU builds, in less than 150 MB', () => {
    const folders = readdirSync(join(app, 'node_modules'), { recursive: true, encoding: 'utf8' });
    assert.deepEqual(
      folders.filter((path) => /@node-llama-cpp.[\w-]+-(?:cuda|cuda-ext|vulkan)$/.test(path)),
      [],
    );
    const bytes = listFiles(app).reduce((sum, path) => sum + statSync(join(app, path)).size, 0);
    assert.ok(bytes < INSTALLED_BYTES_MAX, `has ${Math.round(bytes / 1e6)} MB`);
  });

  // The Node of this run, and the one on the PATH: an older Node must find a newer one.
  for (const [name, node] of [
    ['this Node', process.execPath],
    ['the Node on the PATH', 'node'],
  ] as const) {
    test(`runs on ${name} without a warning`, () => {
      const help = spawnSync(node, [join(installed, 'bin/parley.js'), '--help'], { cwd: folder, encoding: 'utf8' });
      assert.equal(help.status, 0, help.stderr);
      assert.match(help.stdout, /Usage: parley/);
      assert.equal(help.stderr, '');
    });
  }

  test('exits with an error for an unknown command', () => {
    const { status, signal } = spawnSync('node', [join(installed, 'bin/parley.js'), 'no-such-command']);
    assert.notEqual(status, 0);
    assert.equal(signal, null);
  });

  for (const { engine, prompt, answer, skip } of [
    { engine: 'scripted', prompt: 'script:["Hel","lo"]', answer: /^Hello$/, skip: false },
    { engine: 'llama', prompt: 'Say hello.', answer: /\w/, skip: getWeightsSkipReason('svc-tiny') },
  ] as const) {
    test(`starts with the ${engine} engine and answers a chat completion`, { skip }, async () => {
      const data = join(folder, `data-${engine}`);
      const parley = spawn(command, ['serve', '--port', '0', '--data', data], {
        cwd: app,
        shell: process.platform === 'win32',
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          PARLEY_ENGINE_KIND: engine,
          PARLEY_ENGINE_THREADS: '1',
          PARLEY_ENGINE_CONTEXT_TOKENS: '1024',
          PARLEY_MODELS_FOLDER: getModelsFolder(),
          PARLEY_HUB_URL: 'off',
        },
      });
      let output = '';
      for (const stream of [parley.stdout, parley.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => (output += text));
      }
      const exit = once(parley, 'exit');
      try {
        const url = await until('parley is ready', { timeoutMs: READY_MS_MAX }, async () => {
          assert.equal(parley.exitCode, null, `parley ended at its start:\n${output}`);
          const [, address] = /Listening on (http:\/\/\S+)/.exec(output) ?? [];
          return address !== undefined && (await fetch(`${address}/ready`)).ok ? address : undefined;
        });
        const response = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${readFileSync(join(data, 'key'), 'utf8').trim()}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify({
            model: engine === 'llama' ? 'svc-tiny' : 'svc-plus',
            max_tokens: 16,
            messages: [{ role: 'user', content: prompt }],
          }),
        });
        const body = await response.text();
        assert.equal(response.status, 200, body);
        const { choices } = JSON.parse(body) as { choices: { message: { content: string } }[] };
        assert.match(choices[0]?.message.content ?? '', answer);
      } finally {
        parley.kill('SIGTERM');
        const [code] = await exit;
        assert.equal(code, 0, output);
      }
    });
  }
});
