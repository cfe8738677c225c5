import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { isFileLocked, tryLockFile } from './file-lock.ts';

const createPath = (t: TestContext): string => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-lock-'));
  chmodSync(folder, 0o777);
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'a.lock');
};

/** Runs code with `tryLockFile` and `path` in a process of its own. */
function runWithLock(path: string, code: string): ChildProcess {
  const module = new URL('file-lock.ts', import.meta.url).href;
  const script = `import { tryLockFile } from ${JSON.stringify(module)}; const path = ${JSON.stringify(path)}; ${code}`;
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function readLine(child: ChildProcess): Promise<string> {
  const [line] = (await once(child.stdout ?? assert.fail(), 'data')) as [Buffer];
  return line.toString().trim();
}

describe('tryLockFile', () => {
  it('grants a path once in a process, and again after the release, and leaves no file', (t) => {
    const path = createPath(t);
    const lock = tryLockFile(path);
    assert.ok(lock);
    assert.equal(tryLockFile(path), undefined);
    assert.equal(tryLockFile(path), undefined, 'a refused attempt must not end the lock');
    lock.release();
    assert.equal(existsSync(path), false);
    tryLockFile(path)?.release();
  });

  it('replaces the lock file of an earlier version, which held JSON', (t) => {
    const path = createPath(t);
    writeFileSync(path, JSON.stringify({ pid: 1, host: 'h', token: 't'.repeat(100) }));
    assert.ok(tryLockFile(path));
  });

  it('refuses a path that another process has locked, until that process is killed', async (t) => {
    const path = createPath(t);
    const child = runWithLock(path, 'console.log(tryLockFile(path) !== undefined); setInterval(() => {}, 1e6);');
    assert.equal(await readLine(child), 'true');
    assert.equal(tryLockFile(path), undefined);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(existsSync(path), true);
    tryLockFile(path)?.release();
    assert.equal(existsSync(path), false);
  });

  it('never grants a path twice to processes that lock and release it in a loop', async (t) => {
    const path = createPath(t);
    // Each holder creates and removes a file beside the lock, which fails when there are two holders.
    const code = `
      import { openSync, closeSync, unlinkSync } from 'node:fs';
      for (let held = 0; held < 300;) {
        const lock = tryLockFile(path);
        if (!lock) continue;
        closeSync(openSync(path + '.held', 'wx'));
        unlinkSync(path + '.held');
        lock.release();
        held++;
      }`;
    const children = [1, 2, 3].map(() => runWithLock(path, code));
    const codes = await Promise.all(children.map(async (child) => ((await once(child, 'exit')) as [number])[0]));
    assert.deepEqual(codes, [0, 0, 0]);
  });
});

describe('tryLockFile for a file of another user', () => {
  // Only root can act for another user.
  const skip = process.getuid?.() !== 0 && 'needs root';

  it('refuses it instead of locking nothing', { skip }, async (t) => {
    const path = createPath(t);
    writeFileSync(path, '', { mode: 0o644 });
    const child = runWithLock(
      path,
      "process.setuid(65534); try { tryLockFile(path); console.log('locked'); } catch ({ code }) { console.log(code); }",
    );
    assert.equal(await readLine(child), 'EACCES');
  });
});

describe('isFileLocked', () => {
  it('tells a held lock from none, and from one whose process was killed', async (t) => {
    const path = createPath(t);
    assert.equal(isFileLocked(path), false);
    const child = runWithLock(
      path,
      `const lock = tryLockFile(path); console.log('locked'); setInterval(() => lock, 1000);`,
    );
    t.after(() => child.kill('SIGKILL'));
    await readLine(child);
    assert.equal(isFileLocked(path), true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(existsSync(path), true);
    assert.equal(isFileLocked(path), false);
    assert.equal(existsSync(path), false);
  });
});
