import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { LOG_BUFFER_CHARS_MAX } from './limits.ts';
import { createLogFile } from './log-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-log-'));
after(() => rmSync(folder, { recursive: true }));

const waitUntil = async (isTrue: () => boolean): Promise<void> => {
  for (const end = performance.now() + 30_000; !isTrue();) {
    assert.ok(performance.now() < end, 'it takes too long');
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe('createLogFile', () => {
  it('writes lines in order, after a delay or at a flush', async () => {
    const path = join(folder, 'order');
    const fd = openSync(path, 'w');
    const file = createLogFile(fd);
    const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at} ü\n`);
    for (const line of lines) file.write(line);
    await waitUntil(() => readFileSync(path, 'utf8') === lines.join(''));
    file.write('last\n');
    file.flush();
    assert.ok(readFileSync(path, 'utf8').endsWith('ü\nlast\n'));
    closeSync(fd);
  });

  it('drops lines beyond the buffer and reports their number', async () => {
    const path = join(folder, 'many');
    const fd = openSync(path, 'w');
    const file = createLogFile(fd);
    file.write(`${'x'.repeat(LOG_BUFFER_CHARS_MAX - 1)}\n`);
    file.write(`${'y'.repeat(LOG_BUFFER_CHARS_MAX)}\n`);
    await waitUntil(() => readFileSync(path).length === LOG_BUFFER_CHARS_MAX);
    file.write('z\n');
    file.flush();
    const [lostNotice, last] = readFileSync(path, 'utf8').split('\n').slice(1);
    assert.deepEqual([Reflect.get(Object(JSON.parse(lostNotice ?? '')), 'lines'), last], [1, 'z']);
    closeSync(fd);
  });

  it('removes its exit listener once all lines are written', async () => {
    const fd = openSync(join(folder, 'listeners'), 'w');
    // Other code in this process has exit listeners of its own.
    const before = new Set(process.listeners('exit'));
    const file = createLogFile(fd);
    file.write('a\n');
    const added = process.listeners('exit').filter((each) => !before.has(each));
    assert.equal(added.length, 1);
    await waitUntil(() => !process.listeners('exit').some((each) => added.includes(each)));
    closeSync(fd);
  });

  it(
    'continues when the disk is full, and writes the rest at process exit',
    {
      skip: existsSync('/dev/full') ? false : '/dev/full does not exist',
    },
    async () => {
      const source = new URL('./log-file.ts', import.meta.url).href;
      const program = `
      import { openSync } from 'node:fs';
      import { createLogFile } from ${JSON.stringify(source)};
      const full = createLogFile(openSync('/dev/full', 'w'));
      full.write('x'.repeat(20_000) + '\\n');
      setTimeout(() => {
        full.write('again\\n');
        full.flush();
        full.write('at the end\\n');
        createLogFile(1).write('alive\\n');
      }, 300);
    `;
      const child = spawn(process.execPath, [
        '--disable-warning=ExperimentalWarning',
        '--input-type=module',
        '-e',
        program,
      ]);
      const killer = setTimeout(() => child.kill('SIGKILL'), 45_000);
      const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      clearTimeout(killer);
      assert.deepEqual([output, code], ['alive\n', 0]);
    },
  );
});
