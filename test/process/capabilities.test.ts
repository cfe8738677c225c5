// Removes each capability from a copy of the tree, as somebody would who does not want it: its folder, and its line in
// src/capabilities.ts; and then all of them. The rest must compile, follow the rules of the tree, pass the unit and
// integration tests that could notice, start, and answer a request. Without PARLEY_TEST_FULL=1, the tree without one
// capability runs another share of these tests each time, and the tree without any runs all.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { copyFile, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LIST = 'src/capabilities.ts';

/** File in which a check of the types keeps its results for the next one (`scripts/checks.ts`). */
const TYPES_INFO = '.cache/types.tsbuildinfo';

/** Tests of `test/tidy.test.ts` that apply the rules to examples, which no capability changes. */
const RULE_TESTS = 'the rules of the tree';

/** A line of the list, with the name of the capability's folder. */
const LINE = /^export \{ \w+ \} from '\.\/capabilities\/([\w-]+)\/[\w-]+\.ts';$/;

/** Folders that a copy does not need: packages are linked, the others are results of builds. */
const NOT_COPIED = new Set(['node_modules', '.git', '.cache', 'dist', 'coverage']);

/** Tests of unit and integration passes outside of the capabilities. */
const TEST_GLOBS = ['src/!(capabilities)/**/*.test.ts', 'scripts/**/*.test.ts', 'test/contracts/**/*.test.ts'];

const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

/** Time limit of one command in ms: many times what it takes on a busy machine. */
const COMMAND_MS_MAX = 900_000;

const names = readFileSync(join(ROOT, LIST), 'utf8')
  .split('\n')
  .flatMap((line) => LINE.exec(line)?.[1] ?? []);

describe('tree without one of its capabilities', { timeout: 5 * COMMAND_MS_MAX }, () => {
  let folder = '';
  let copy = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-without-'));
    copy = join(folder, 'tree');
    await cp(ROOT, copy, { recursive: true, filter: (path) => !NOT_COPIED.has(basename(path)) });
    symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(copy, 'node_modules'));
    // The types of the complete tree have been checked already: only what changes with a capability is checked again.
    const checked = join(ROOT, TYPES_INFO);
    await mkdir(dirname(join(copy, TYPES_INFO)));
    if (existsSync(checked)) await copyFile(checked, join(copy, TYPES_INFO));
  });
  after(async () => await rm(folder, { recursive: true, force: true }));

  /** Runs Node in the copy. Rejects with its output when it fails. */
  const run = async (args: readonly string[], added: NodeJS.ProcessEnv = {}): Promise<void> => {
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined, PARLEY_TEST_STRICT: undefined, ...added };
    const options = { cwd: copy, env, timeout: COMMAND_MS_MAX, maxBuffer: 64 * 2 ** 20 };
    await promisify(execFile)(process.execPath, args, options).catch((error: { stdout?: string; stderr?: string }) =>
      assert.fail(`node ${args.slice(0, 3).join(' ')} … failed\n${error.stdout}${error.stderr}`),
    );
  };

  test('has a line for each folder of a capability', () => {
    const folders = readdirSync(join(ROOT, 'src/capabilities'), { withFileTypes: true });
    assert.deepEqual(names, folders.flatMap((entry) => (entry.isDirectory() ? entry.name : [])).toSorted());
  });

  const trees = [...names.map((name) => ({ title: name, removed: [name] })), { title: 'any of them', removed: names }];
  const firstShare = Math.floor(Math.random() * names.length);
  for (const [at, { title, removed }] of trees.entries()) {
    test(`compiles, passes its tests and serves without ${title}`, async () => {
      const list = await readFile(join(copy, LIST), 'utf8');
      const kept = list.split('\n').filter((line) => !removed.includes(LINE.exec(line)?.[1] ?? ''));
      for (const name of removed) await rename(join(copy, 'src/capabilities', name), join(folder, name));
      // A file without an export is no module.
      await writeFile(join(copy, LIST), removed.length < names.length ? kept.join('\n') : 'export {};\n');
      try {
        const info = ['--incremental', '--tsBuildInfoFile', TYPES_INFO];
        // Preserved links give packages the same paths in the kept results as in the complete tree.
        await run(['node_modules/typescript/bin/tsc', '-p', '.', '--preserveSymlinks', ...info]);
        await run(
          [
            '--disable-warning=ExperimentalWarning',
            '--test',
            '--test-isolation=none',
            `--test-skip-pattern=/${RULE_TESTS}/`,
            'scripts/file-suites.ts',
          ],
          { PARLEY_TEST_FILES: JSON.stringify(selectTests(copy, removed.length, firstShare + at)) },
        );
        await assertServes(copy, await mkdtemp(join(folder, 'data-')));
      } finally {
        await writeFile(join(copy, LIST), list);
        for (const name of removed) await rename(join(folder, name), join(copy, 'src/capabilities', name));
      }
    });
  }
});

/** Tests that read the files of the tree. */
const TREE_TESTS = ['test/tidy.test.ts', 'scripts/limits-page.test.ts', 'scripts/pass-plans.test.ts'];

/**
 * Selects the tests that read the files of the tree, and those that import the list of capabilities, directly or through
 * others: only these can notice that one is gone. If one of several capabilities is removed, selects one share of the
 * latter; with PARLEY_TEST_FULL=1, all tests.
 */
function selectTests(root: string, removedCount: number, share: number): readonly string[] {
  const tests = globSync(TEST_GLOBS, { cwd: root });
  if (process.env.PARLEY_TEST_FULL === '1') return [...new Set([...TREE_TESTS, ...tests])];
  const affected = tests.filter((file) => importsList(root, file, new Set()));
  const shareCount = removedCount === names.length ? 1 : names.length;
  return [...new Set([...TREE_TESTS, ...affected.filter((_, at) => (at + share) % shareCount === 0)])];
}

function importsList(root: string, file: string, seen: Set<string>): boolean {
  if (file === LIST) return true;
  if (seen.has(file) || !file.endsWith('.ts')) return false;
  seen.add(file);
  const specifiers = readFileSync(join(root, file), 'utf8').matchAll(IMPORT);
  return Array.from(specifiers, ([, specifier = '']) => relative(root, join(root, dirname(file), specifier))).some(
    (target) => importsList(root, target, seen),
  );
}

/** Starts the service of a tree, and asks it a question. */
async function assertServes(root: string, data: string): Promise<void> {
  const env = {
    ...process.env,
    PARLEY_DATA: data,
    PARLEY_PORT: '0',
    PARLEY_ENGINE_KIND: 'scripted',
    PARLEY_HUB_URL: 'off',
    PARLEY_LOG_LEVEL: 'error',
    // Verifying the sandbox takes longer than the start, and has tests of its own.
    PARLEY_CODE_INTERPRETER_LEVEL: 'off',
  };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'src/cli.ts', 'serve'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  try {
    let url = '';
    for await (const line of createInterface({ input: child.stdout })) {
      url = /^Listening on (\S+)/.exec(line)?.[1] ?? '';
      if (url !== '') break;
    }
    child.stdout.resume();
    const key = (await readFile(join(data, 'key'), 'utf8')).trim();
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-plus', messages: [{ role: 'user', content: 'script:["Hello"]' }] }),
    });
    const body = await response.text();
    assert.equal(response.status, 200, body);
    assert.match(body, /"content":"Hello"/);
  } finally {
    child.kill();
    await exited;
  }
}
