import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findPython } from './python.ts';
import type { Exchange } from './recording-proxy.ts';

const SCRIPT = fileURLToPath(new URL('python/published_shapes.py', import.meta.url));

/**
 * Largest output of the check, in bytes. Lines can be megabytes, because streams repeat the whole response three times.
 */
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

const PYTHON = findPython('openresponses-types');

/** Why shapes cannot be checked on this machine, or false. */
export const publishedShapesSkipReason: string | false = PYTHON.skipReason ?? false;

/**
 * Asserts that every response body and event matches its published shape, and that each expected shape occurs.
 *
 * @param expectedShapes Names of types of the package openresponses-types, or of the openai client where that has none.
 */
export function assertPublishedShapes(exchanges: readonly Exchange[], expectedShapes: readonly string[]): void {
  const input = exchanges.map((exchange) => `${JSON.stringify(exchange)}\n`).join('');
  const { stdout, stderr, status } = spawnSync(PYTHON.path, [SCRIPT], {
    input,
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES_MAX,
    env: { ...process.env, ...PYTHON.env, PYTHONUTF8: '1' },
  });
  assert.equal(status, 0, stderr);
  const { faults, checked }: { faults: string[]; checked: Record<string, number> } = JSON.parse(stdout);
  assert.deepEqual(faults, []);
  assert.deepEqual(
    expectedShapes.filter((kind) => checked[kind] === undefined),
    [],
    `was not there to be checked; was: ${Object.keys(checked).join(', ')}`,
  );
}
