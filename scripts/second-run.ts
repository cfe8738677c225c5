import { runTestPass } from './test-pass.ts';
import type { FinishedTest, TestPass } from './test-pass.ts';

/** A test that failed beside others and passed when its file ran again. */
export interface UnsteadyTest extends FinishedTest {
  readonly outcome: 'passed';
  /** Of the first run. */
  readonly firstDetail: string;
}

/** Ours: files with failed tests that run again. Beyond: it is no chance, and nothing runs again. */
const FILES_AGAIN_MAX = 3;

/**
 * Tests of real processes share a machine with whatever else runs there. Where few of their files have failed tests, these files run
 * once more, alone: what fails again has failed; what passes then has passed and is named. A fault of the run itself, or of a
 * file, is never chance.
 */
export async function runWithSecondRun(
  pass: TestPass,
  onTest: (test: FinishedTest | UnsteadyTest) => void,
): Promise<readonly string[]> {
  const first: FinishedTest[] = [];
  const faults = await runTestPass(pass, (test) => {
    if (test.outcome === 'failed') first.push(test);
    else onTest(test);
  });
  const filesAgain = [...new Set(first.map(fileOf))];
  if (first.length === 0 || faults.length > 0 || filesAgain.length > FILES_AGAIN_MAX) {
    first.forEach(onTest);
    return faults;
  }
  const second: FinishedTest[] = [];
  const faultsAgain = await runTestPass({ ...pass, files: filesAgain, atOnce: 1 }, (test) => second.push(test));
  for (const test of first) {
    const again = second.find((one) => isSame(one, test));
    onTest(again?.outcome === 'passed' ? { ...again, outcome: 'passed', firstDetail: test.detail } : test);
  }
  for (const test of second) if (test.outcome === 'failed' && !first.some((one) => isSame(one, test))) onTest(test);
  return faultsAgain;
}

const fileOf = ({ place }: FinishedTest): string => place.slice(0, place.lastIndexOf(':'));

const isSame = (a: FinishedTest, b: FinishedTest): boolean => a.name === b.name && a.place === b.place;
