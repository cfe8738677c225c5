import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { LOG_CHARS_WAITING_MAX } from '../core/limits.ts';
import { logFile } from './log-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-log-'));
after(() => rmSync(folder, { recursive: true }));

const until = async (isTrue: () => boolean): Promise<void> => {
  for (const end = performance.now() + 30_000; !isTrue();) {
    assert.ok(performance.now() < end, 'it takes too long');
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe('lines to a file', () => {
  it('are written in their order, a while later or at a flush', async () => {
    const path = join(folder, 'order');
    const fd = openSync(path, 'w');
    const file = logFile(fd);
    const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at} ü\n`);
    for (const line of lines) file.write(line);
    await until(() => readFileSync(path, 'utf8') === lines.join(''));
    file.write('last\n');
    file.flush();
    assert.ok(readFileSync(path, 'utf8').endsWith('ü\nlast\n'));
    closeSync(fd);
  });

  it('are lost where too many wait, and their number is told', async () => {
    const path = join(folder, 'many');
    const fd = openSync(path, 'w');
    const file = logFile(fd);
    file.write(`${'x'.repeat(LOG_CHARS_WAITING_MAX - 1)}\n`);
    file.write(`${'y'.repeat(LOG_CHARS_WAITING_MAX)}\n`);
    await until(() => readFileSync(path).length === LOG_CHARS_WAITING_MAX);
    file.write('z\n');
    file.flush();
    const [told, last] = readFileSync(path, 'utf8').split('\n').slice(1);
    assert.deepEqual([Reflect.get(Object(JSON.parse(told ?? '')), 'lines'), last], [1, 'z']);
    closeSync(fd);
  });

  it('leave no listener behind when they are written', async () => {
    const fd = openSync(join(folder, 'listeners'), 'w');
    // Others in this process have some of their own, and let them go as they like.
    const before = new Set(process.listeners('exit'));
    const file = logFile(fd);
    file.write('a\n');
    const own = process.listeners('exit').filter((each) => !before.has(each));
    assert.equal(own.length, 1);
    await until(() => !process.listeners('exit').some((each) => own.includes(each)));
    closeSync(fd);
  });

  it(
    'stop nothing where the disk is full, and are written when the process ends',
    {
      skip: existsSync('/dev/full') ? false : 'there is no /dev/full',
    },
    async () => {
      const source = new URL('./log-file.ts', import.meta.url).href;
      const program = `
      import { openSync } from 'node:fs';
      import { logFile } from ${JSON.stringify(source)};
      const full = logFile(openSync('/dev/full', 'w'));
      full.write('x'.repeat(20_000) + '\\n');
      setTimeout(() => {
        full.write('again\\n');
        full.flush();
        full.write('at the end\\n');
        logFile(1).write('alive\\n');
      }, 300);
    `;
      const child = spawn(process.execPath, [
        '--disable-warning=ExperimentalWarning',
        '--input-type=module',
        '-e',
        program,
      ]);
      const killer = setTimeout(() => child.kill('SIGKILL'), 45_000);
      const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      clearTimeout(killer);
      assert.deepEqual([said, code], ['alive\n', 0]);
    },
  );
});
