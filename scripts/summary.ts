import type { UnsteadyTest } from './second-run.ts';
import { type FinishedTest, indent } from './test-pass.ts';

export interface Step {
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** What was found, or why it was skipped. */
  readonly detail: string;
  readonly durationMs: number;
}

export interface Summary {
  /** Something that is not a test file, such as the linter; it counts as one test. */
  step(name: string, step: Step): void;
  knows(name: string): boolean;
  /** Begins a pass; the function it returns takes what went wrong besides failed tests. */
  begin(name: string, options: { files: number; showsEach: boolean }): (faults: readonly string[]) => void;
  test(test: FinishedTest | UnsteadyTest): void;
  /** Prints the closing block. @returns the exit code. */
  close(): number;
}

/**
 * Counts and prints. A skip is neither passed nor failed. With `isStrict` a skipped test that needs a real client, a
 * real model or an engine has failed: the machine was meant to have them.
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
  const unsteady: string[] = [];
  let passed = 0;
  let pass = { name: '', showsEach: false, tests: 0 };

  const count = (title: string, { outcome, detail, isRequired }: Step & { isRequired: boolean }): void => {
    if (outcome === 'passed') {
      passed += 1;
    } else if (outcome === 'skipped' && !(isStrict && isRequired)) {
      skipped.push(detail === '' ? title : `${title}: ${detail}`);
    } else {
      const name = outcome === 'skipped' ? `${title}: skipped, but must run here` : title;
      failed.push(name);
      print(`  FAILED ${name}`);
      if (detail !== '') print(indent(detail));
    }
  };

  return {
    step(name, step) {
      passes.push({ name, durationMs: step.durationMs, tests: 1 });
      if (step.outcome === 'passed') print(`  ok ${name}  ${seconds(step.durationMs)}`);
      count(name, { ...step, isRequired: true });
    },

    knows: (name) => passes.some((one) => one.name === name),

    begin(name, { files, showsEach }) {
      const startedAt = now();
      const own = { name, showsEach, tests: 0 };
      pass = own;
      print(`${name} tests, ${files} ${files === 1 ? 'file' : 'files'}`);
      return (faults) => {
        const durationMs = now() - startedAt;
        passes.push({ name, durationMs, tests: own.tests });
        for (const fault of faults) {
          count(`${name} tests: ${fault}`, { outcome: 'failed', detail: '', durationMs, isRequired: true });
        }
      };
    },

    test(test) {
      pass.tests += 1;
      if ('firstDetail' in test) {
        unsteady.push(`${test.name} (${test.place})`);
        print(`  UNSTEADY ${test.name} (${test.place}): it passed when it ran again, alone, and failed before`);
        print(indent(test.firstDetail));
      } else if (test.outcome === 'passed') {
        const line = `${test.name}  ${seconds(test.durationMs)}`;
        if (pass.showsEach) print(`  ok ${line}`);
        else if (test.durationMs > SLOW_MS) print(`  slow ${line}`);
      }
      const isRequired = REQUIRED_PASSES.has(pass.name) || test.place.includes('engine');
      count(`${test.name} (${test.place})`, { ...test, isRequired });
    },

    close() {
      if (passed + failed.length === 0) failed.push('no test was run');
      print('');
      for (const { name, durationMs, tests } of passes) {
        print(`${name.padEnd(8)}${seconds(durationMs).padStart(8)}${String(tests).padStart(6)}`);
      }
      if (skipped.length > 0) print(`\nskipped:\n${indent(skipped.join('\n'))}`);
      if (unsteady.length > 0) print(`\nunsteady, passed in a second run:\n${indent(unsteady.join('\n'))}`);
      if (failed.length > 0) print(`\nfailed:\n${indent(failed.join('\n'))}`);
      print(`\n${passed} passed, ${failed.length} failed`);
      return failed.length === 0 ? 0 : 1;
    },
  };
}

/** A test this slow, in ms, is named even where passed tests are not: `npm run check` is to stay under 20 s. */
const SLOW_MS = 1_000;

/** Passes whose tests need what CI installs: a model, a client, an engine process. */
const REQUIRED_PASSES: ReadonlySet<string> = new Set(['process', 'engine', 'model', 'clients']);

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
