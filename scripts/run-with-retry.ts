import { runTestPass } from './test-pass.ts';
import type { FinishedTest, TestPass } from './test-pass.ts';

/** A test that failed in the first run and passed when its file ran again alone. */
export interface FlakyTest extends FinishedTest {
  readonly outcome: 'passed';
  /** The error of the first run. */
  readonly firstDetail: string;
}

/** Retry at most this many files. With more failing files the failures are no coincidence, so nothing is retried. */
const RETRIED_FILES_MAX = 3;

/**
 * Runs a pass, and runs its failed files once more, alone. Tests of real processes share a machine with other programs,
 * so a test may fail by coincidence: a test that passes in the second run counts as passed and is named. Faults of the
 * run itself are never retried.
 * @returns faults besides failed tests, as `runTestPass` does.
 */
export async function runTestPassWithRetry(
  pass: TestPass,
  onTest: (test: FinishedTest | FlakyTest) => void,
): Promise<readonly string[]> {
  const firstFailures: FinishedTest[] = [];
  const faults = await runTestPass(pass, (test) => {
    if (test.outcome === 'failed') firstFailures.push(test);
    else onTest(test);
  });
  const retriedFiles = [...new Set(firstFailures.map(({ file }) => file))];
  if (firstFailures.length === 0 || faults.length > 0 || retriedFiles.length > RETRIED_FILES_MAX) {
    firstFailures.forEach(onTest);
    return faults;
  }
  const secondResults: FinishedTest[] = [];
  const retryFaults = await runTestPass({ ...pass, files: retriedFiles, concurrency: 1 }, (test) =>
    secondResults.push(test),
  );
  for (const test of firstFailures) {
    // Tests of a loop may share name and place; all of them must pass.
    const again = secondResults.filter((one) => isSameTest(one, test));
    const hasPassed = again.length > 0 && again.every(({ outcome }) => outcome === 'passed');
    onTest(hasPassed ? { ...test, outcome: 'passed', firstDetail: test.detail } : test);
  }
  for (const test of secondResults)
    if (test.outcome === 'failed' && !firstFailures.some((one) => isSameTest(one, test))) onTest(test);
  return retryFaults;
}

const isSameTest = (a: FinishedTest, b: FinishedTest): boolean => a.name === b.name && a.location === b.location;
