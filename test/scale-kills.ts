/** Fewest kills of a test that kills its process repeatedly. */
const KILLS_MIN = 6;

/**
 * Returns how often a test kills its process: `fullCount` times with PARLEY_TEST_FULL=1, which `npm test -- --full-runs`
 * sets, and a third of it otherwise. The moments are random, so every run tests other ones.
 */
export const scaleKills = (fullCount: number): number =>
  process.env.PARLEY_TEST_FULL === '1' ? fullCount : Math.min(fullCount, Math.max(KILLS_MIN, Math.ceil(fullCount / 3)));
