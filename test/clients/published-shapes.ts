import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findPython } from './python.ts';
import type { Exchange } from './recorder.ts';

const SCRIPT = fileURLToPath(new URL('python/published_shapes.py', import.meta.url));

/** Lines of a run can be megabytes: streams repeat the whole response three times. */
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

const PYTHON = findPython('openresponses-types');

/** Why answers cannot be checked on this machine, or false. */
export const lacksPublishedShapes: string | false = PYTHON.lacks ?? false;

/**
 * Asserts that every answer and every event has the shape that is published for it, and that there was one of each of these.
 *
 * @param kinds Names of shapes of the published package, or of the official client where that has none.
 */
export function assertPublished(exchanges: readonly Exchange[], kinds: readonly string[]): void {
  const input = exchanges.map((exchange) => `${JSON.stringify(exchange)}\n`).join('');
  const { stdout, stderr, status } = spawnSync(PYTHON.path, [SCRIPT], {
    input,
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES_MAX,
    env: { ...process.env, ...PYTHON.env, PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1' },
  });
  assert.equal(status, 0, stderr);
  const { faults, checked }: { faults: string[]; checked: Record<string, number> } = JSON.parse(stdout);
  assert.deepEqual(faults, []);
  assert.deepEqual(
    kinds.filter((kind) => checked[kind] === undefined),
    [],
    `was not there to be checked; was: ${Object.keys(checked).join(', ')}`,
  );
}
