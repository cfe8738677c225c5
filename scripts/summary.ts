import type { FlakyTest } from './run-with-retry.ts';
import { type FinishedFile, type FinishedTest, indent } from './test-pass.ts';

export interface Step {
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** The findings of a failed step, or the reason of a skipped one. */
  readonly detail: string;
  readonly durationMs: number;
}

export interface Summary {
  /** Counts a check that is not a test file, such as the linter, as one test. */
  addStep(name: string, step: Step): void;
  /** Starts a pass. Call the returned function at its end with the faults besides failed tests. */
  startPass(name: string, options: { files: number; showsEach: boolean }): (faults: readonly string[]) => void;
  addTest(test: FinishedTest | FlakyTest): void;
  addFile(file: FinishedFile): void;
  /** Prints what a test reports about itself. */
  addNote(text: string): void;
  /** Prints the closing block. @returns the exit code. */
  close(): number;
}

/**
 * Counts results and prints them. A skipped test is neither passed nor failed; with `isStrict`, a skipped test that
 * needs a real client, model or engine has failed, because the machine was meant to have them.
 */
export function createSummary({
  isStrict,
  print = (line) => console.log(line),
  now = () => performance.now(),
}: {
  isStrict: boolean;
  print?: (line: string) => void;
  now?: () => number;
}): Summary {
  const passes: { name: string; durationMs: number; tests: number }[] = [];
  const skipped: string[] = [];
  const failed: string[] = [];
  const flaky: string[] = [];
  let passed = 0;
  let pass: RunningPass = { name: '', showsEach: false, tests: 0, files: [] };

  const count = (title: string, { outcome, detail, isRequired }: Step & { isRequired: boolean }): void => {
    if (outcome === 'passed') {
      passed += 1;
    } else if (outcome === 'skipped' && !(isStrict && isRequired)) {
      skipped.push(detail === '' ? title : `${title}: ${detail}`);
    } else {
      const name = outcome === 'skipped' ? `${title}: skipped, but PARLEY_TEST_STRICT requires it` : title;
      failed.push(name);
      print(`  FAILED ${name}`);
      if (detail !== '') print(indent(detail));
    }
  };

  return {
    addStep(name, step) {
      passes.push({ name, durationMs: step.durationMs, tests: 1 });
      if (step.outcome === 'passed') print(`  ok ${name}  ${formatSeconds(step.durationMs)}`);
      count(name, { ...step, isRequired: true });
    },

    startPass(name, { files, showsEach }) {
      const startedAt = now();
      const started: RunningPass = { name, showsEach, tests: 0, files: [] };
      pass = started;
      print(`${name} tests, ${files} ${files === 1 ? 'file' : 'files'}`);
      return (faults) => {
        const durationMs = now() - startedAt;
        passes.push({ name, durationMs, tests: started.tests });
        const slowest = started.files
          .toSorted((a, b) => b.durationMs - a.durationMs)
          .slice(0, SLOWEST_SHOWN)
          .filter(({ durationMs }) => durationMs >= SLOW_FILE_MS);
        if (slowest.length > 0) print('  slowest files:');
        for (const file of slowest) print(`${formatSeconds(file.durationMs).padStart(11)}  ${file.path}`);
        for (const fault of faults) {
          count(`${name} tests: ${fault}`, { outcome: 'failed', detail: '', durationMs, isRequired: true });
        }
      };
    },

    addTest(test) {
      pass.tests += 1;
      if ('firstDetail' in test) {
        flaky.push(`${test.name} (${test.location})`);
        print(`  FLAKY ${test.name} (${test.location}): failed first, passed when its file ran again alone`);
        print(indent(test.firstDetail));
      } else if (test.outcome === 'passed') {
        const line = `${test.name}  ${formatSeconds(test.durationMs)}`;
        if (pass.showsEach) print(`  ok ${line}`);
        else if (test.durationMs > SLOW_MS) print(`  slow ${line}`);
      }
      const isRequired = REQUIRED_PASSES.has(pass.name) || test.location.includes('engine');
      count(`${test.name} (${test.location})`, { ...test, isRequired });
    },

    addFile(file) {
      pass.files.push(file);
    },

    addNote: (text) => print(`  ${text}`),

    close() {
      if (passed + failed.length === 0) failed.push('no test ran');
      print('');
      for (const { name, durationMs, tests } of passes) {
        print(`${name.padEnd(8)}${formatSeconds(durationMs).padStart(8)}${String(tests).padStart(6)}`);
      }
      if (skipped.length > 0) print(`\nskipped:\n${indent(skipped.join('\n'))}`);
      if (flaky.length > 0) print(`\nflaky, passed in a second run:\n${indent(flaky.join('\n'))}`);
      if (failed.length > 0) print(`\nfailed:\n${indent(failed.join('\n'))}`);
      print(`\n${passed} passed, ${failed.length} failed`);
      return failed.length === 0 ? 0 : 1;
    },
  };
}

interface RunningPass {
  readonly name: string;
  readonly showsEach: boolean;
  tests: number;
  readonly files: FinishedFile[];
}

/** Files that are named at the end of a pass: what takes the time of a run. */
const SLOWEST_SHOWN = 10;

/** Time in ms below which a file is not worth naming. */
const SLOW_FILE_MS = 2_000;

/** Tests slower than this, in ms, are named even where passed tests are not shown: `npm run check` should stay fast. */
const SLOW_MS = 1_000;

/** Passes whose tests need what CI installs: models, clients, engine processes. */
const REQUIRED_PASSES: ReadonlySet<string> = new Set(['attack', 'process', 'model', 'clients']);

function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
