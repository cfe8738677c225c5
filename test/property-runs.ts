// Preloaded by the unit and integration passes, so that properties without a count of their own are scaled too.
import fc from 'fast-check';

/** Fewest runs of a scaled property. Only properties whose runs are slow have so small a count. */
const RUNS_MIN = 4;

/**
 * Returns how often a property runs: a tenth of `fullCount` in the development loop, since seeds differ from run to run,
 * and all of `fullCount` with PARLEY_PROPERTY_RUNS=full, which `npm test` sets.
 */
export function scalePropertyRuns(fullCount: number): number {
  if (process.env.PARLEY_PROPERTY_RUNS === 'full') return fullCount;
  return Math.min(fullCount, Math.max(RUNS_MIN, Math.ceil(fullCount / 10)));
}

fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: scalePropertyRuns(100) });
