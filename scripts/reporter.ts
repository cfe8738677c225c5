import { relative, resolve } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** A finished test, a finished file, a piece of output, a note of a test, or the end of a run; sent by the process of the tests to `test-pass.ts`. */
export type TestRecord =
  | {
      readonly type: 'test';
      readonly outcome: 'passed' | 'failed' | 'skipped';
      /** Names of the enclosing suites and of the test, joined by ` > `. */
      readonly name: string;
      /** `path:line`, relative to the working directory: where the test is declared. */
      readonly location: string;
      /** The test file that ran it, relative to the working directory: tests may be declared by a shared module. */
      readonly file: string;
      readonly durationMs: number;
      /** The error of a failed test, or the reason of a skipped one. */
      readonly detail: string;
    }
  /** `path` is relative to the working directory. */
  | { readonly type: 'file'; readonly path: string; readonly durationMs: number }
  | { readonly type: 'output'; readonly text: string }
  /** A measurement that a test reports with `t.diagnostic`. */
  | { readonly type: 'note'; readonly text: string }
  | { readonly type: 'end' };

/** Start of the name of a suite that `file-suites.ts` makes of a test file. The names of its tests leave it out. */
export const FILE_SUITE_PREFIX = 'file:';

/**
 * A node:test reporter that prints nothing and sends each finished test to the parent process: one closing line for
 * several runs is possible only if no run prints its own.
 */
export default async function* reporter(events: AsyncIterable<TestEvent>): AsyncGenerator<never> {
  const translate = createEventDecoder(process.cwd());
  for await (const event of events) {
    const record = translate(event);
    if (record) process.send?.(record);
  }
  process.send?.({ type: 'end' } satisfies TestRecord);
  yield* [];
}

/** Converts events to records. node:test reports a skip as a pass and a suite as a test; both are told apart here. */
export function createEventDecoder(root: string): (event: TestEvent) => TestRecord | undefined {
  const names: string[] = [];
  /** Tests reported since the suite of a file has started. */
  let reportedInFile = 0;
  return (event) => {
    switch (event.type) {
      case 'test:start':
        if (event.data.nesting === 0) reportedInFile = 0;
        names.length = event.data.nesting;
        names[event.data.nesting] = event.data.name;
        return undefined;
      case 'test:summary': {
        const { file, duration_ms: durationMs } = event.data;
        return file === undefined ? undefined : { type: 'file', path: relative(root, file), durationMs };
      }
      case 'test:stdout':
      case 'test:stderr':
        return { type: 'output', text: event.data.message };
      case 'test:diagnostic':
        // At the top level node:test reports its own totals.
        return event.data.nesting === 0 ? undefined : { type: 'note', text: event.data.message };
      case 'test:pass':
      case 'test:fail': {
        const { data } = event;
        const path = data.file === undefined ? '' : relative(root, data.file);
        const suites = names.slice(names[0]?.startsWith(FILE_SUITE_PREFIX) ? 1 : 0, data.nesting);
        const record = {
          type: 'test',
          name: [...suites, data.name].join(' > '),
          location: `${path}:${data.line ?? 1}`,
          // Newer than the types of Node; absent if all files share a process.
          file: 'entryFile' in data && typeof data.entryFile === 'string' ? relative(root, data.entryFile) : path,
          durationMs: data.details.duration_ms,
        } as const;
        if (event.type === 'test:fail') {
          reportedInFile++;
          // A parent test that failed only because of its subtests: the subtests have been reported already.
          if (getFailureType(event.data.details.error) === 'subtestsFailed') return undefined;
          return { ...record, outcome: 'failed', detail: formatError(event.data.details.error) };
        }
        if (data.skip !== undefined && data.skip !== false) {
          reportedInFile++;
          return { ...record, outcome: 'skipped', detail: typeof data.skip === 'string' ? data.skip : '' };
        }
        if (data.details.type === 'suite') {
          if (!data.name.startsWith(FILE_SUITE_PREFIX)) return undefined;
          const name = data.name.slice(FILE_SUITE_PREFIX.length);
          return reportedInFile === 0
            ? { ...record, name, location: `${name}:1`, outcome: 'failed', detail: NO_TEST }
            : { type: 'file', path: name, durationMs: record.durationMs };
        }
        // If each file has a process, a file without any test is reported as one test of the file's name.
        if (data.nesting === 0 && data.file !== undefined && resolve(root, data.name) === data.file) {
          return { ...record, outcome: 'failed', detail: NO_TEST };
        }
        reportedInFile++;
        return { ...record, outcome: 'passed', detail: '' };
      }
      default:
        return undefined;
    }
  };
}

const NO_TEST = 'The file contains no test.';

function getFailureType(error: Error): unknown {
  return 'failureType' in error ? error.failureType : undefined;
}

/** Formats the test's own error, which node:test wraps in another one. */
function formatError(error: Error): string {
  const { cause } = error;
  // Inspecting an assertion error would print the difference twice: its message contains it already.
  if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_ASSERTION')
    return removeRunnerFrames(cause.stack ?? cause.message);
  if (cause instanceof Error) return removeRunnerFrames(inspect(cause));
  if ('exitCode' in error && typeof error.exitCode === 'number')
    return `The process exited with code ${error.exitCode}.`;
  if ('signal' in error && typeof error.signal === 'string') return `The process was killed by ${error.signal}.`;
  return cause === undefined ? inspect(error) : inspect(cause);
}

/** Removes the stack frames of the test runner and of Node itself. */
function removeRunnerFrames(text: string): string {
  return text.replaceAll(/\n +at (?:[^\n]*\bnode:[^\n]*|[^\n]*\(<anonymous>\)(?=\n|$))/g, '');
}
