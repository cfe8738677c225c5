import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../core/telemetry.ts';
import type { ProgramProcess } from './program-process.ts';
import { createWarmPool } from './warm-pool.ts';

test('a warm pool survives a start that fails in the background', async () => {
  let starts = 0;
  const pool = createWarmPool({
    size: 1,
    log: { error: () => undefined } as unknown as Log,
    start() {
      starts++;
      if (starts === 2) throw new Error('no cgroup');
      return { ready: Promise.resolve(), termination: new Promise(() => undefined) } as unknown as ProgramProcess;
    },
  });
  const first = pool.take();
  await first.ready;
  // The pool starts the next process after the first is ready.
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(starts, 2);
  pool.take();
  assert.equal(starts, 3);
});
