// Preloaded by the unit and integration passes, so that properties without a count of their own are scaled too.
import fc from 'fast-check';

/** Fewest runs of a scaled property. Only properties whose runs are slow have so small a count. */
const RUNS_MIN = 4;

/**
 * Returns how often a property runs: a tenth of `fullCount`, since seeds differ from run to run, and all of
 * `fullCount` with PARLEY_TEST_FULL=1, which `--full-runs` sets.
 */
export function scalePropertyRuns(fullCount: number): number {
  return Math.min(fullCount, Math.max(RUNS_MIN, scaleInputSize(fullCount)));
}

/**
 * Returns the size of an input that shows how running time or memory grows: a tenth of `fullSize`, and all of it with
 * PARLEY_TEST_FULL=1.
 */
export function scaleInputSize(fullSize: number): number {
  return process.env.PARLEY_TEST_FULL === '1' ? fullSize : Math.ceil(fullSize / 10);
}

/**
 * Returns the positions, of those from 0 to before `count`, at which a test cuts its input or ends a process: a tenth of
 * them, evenly spread from a random start, so that runs differ, and all of them with PARLEY_TEST_FULL=1.
 */
export function scalePositions(count: number): readonly number[] {
  const selectedCount = scalePropertyRuns(count);
  const start = Math.random();
  return Array.from({ length: selectedCount }, (_, at) => Math.floor(((at + start) * count) / selectedCount));
}

fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: scalePropertyRuns(100) });
