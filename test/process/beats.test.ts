import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test, type TestContext } from 'node:test';
import { BEAT_LINE } from '../../src/engines/beats.ts';
import { until } from '../until.ts';

const TIMEOUT = { timeoutMs: 60_000 };
const MODULE = new URL('../../src/engines/beats.ts', import.meta.url).href;

/** Starts a process with beats whose main thread does something for ever after its first beats. */
function startProcess(t: TestContext, task: string) {
  const script = `import { startBeats } from '${MODULE}'; startBeats(); setTimeout(() => { ${task} }, 1_500); setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]);
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const countBeats = (): number => output.split('\n').filter((line) => line === BEAT_LINE).length;
  const waitForBeats = (count: number) =>
    until(`${count} beats ${errors}`, TIMEOUT, async () => countBeats() >= count || undefined);
  return { child, countBeats, waitForBeats };
}

test('a process whose main thread computes without a pause keeps beating', async (t) => {
  const { waitForBeats } = startProcess(t, 'for (;;);');
  await waitForBeats(6);
});

for (const [name, task] of [
  ['whose main thread waits for ever', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'],
  ['that is stopped', "process.kill(process.pid, 'SIGSTOP')"],
] as const)
  test(`a process ${name} stops beating`, async (t) => {
    const { countBeats } = startProcess(t, task);
    let last = -1;
    let changedAt = performance.now();
    await until('a silence of four seconds', TIMEOUT, async () => {
      const count = countBeats();
      if (count !== last) changedAt = performance.now();
      last = count;
      return (count > 0 && performance.now() - changedAt > 4_000) || undefined;
    });
    assert.ok(last > 0);
  });
