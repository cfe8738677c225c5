import { relative, resolve } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** One finished test, one piece of output, or the end of a run; what `test-pass.ts` receives from the tests' process. */
export type TestRecord =
  | {
      readonly type: 'test';
      readonly outcome: 'passed' | 'failed' | 'skipped';
      /** With the names of its suites before it. */
      readonly name: string;
      /** `path:line`, relative to the working directory. */
      readonly place: string;
      readonly durationMs: number;
      /** The error, or why it was skipped. */
      readonly detail: string;
    }
  | { readonly type: 'output'; readonly text: string }
  | { readonly type: 'end' };

/**
 * A node:test reporter that says nothing on the terminal and sends a record per finished test to the parent process:
 * several runs make one closing line only if none of them prints one.
 */
export default async function* reporter(events: AsyncIterable<TestEvent>): AsyncGenerator<never> {
  const translate = createTranslation(process.cwd());
  for await (const event of events) {
    const record = translate(event);
    if (record) process.send?.(record);
  }
  process.send?.({ type: 'end' } satisfies TestRecord);
  yield* [];
}

/** Turns events into records. node:test reports a skip as a pass and a suite as a test, so both are looked at here. */
export function createTranslation(root: string): (event: TestEvent) => TestRecord | undefined {
  const names: string[] = [];
  return (event) => {
    switch (event.type) {
      case 'test:start':
        names.length = event.data.nesting;
        names[event.data.nesting] = event.data.name;
        return undefined;
      case 'test:stdout':
      case 'test:stderr':
        return { type: 'output', text: event.data.message };
      case 'test:pass':
      case 'test:fail': {
        const { data } = event;
        const path = data.file === undefined ? '' : relative(root, data.file);
        const record = {
          type: 'test',
          name: [...names.slice(0, data.nesting), data.name].join(' > '),
          place: `${path}:${data.line ?? 1}`,
          durationMs: data.details.duration_ms,
        } as const;
        if (event.type === 'test:fail') {
          // A parent fails because of what stands in it, and that has been reported already.
          if (failureType(event.data.details.error) === 'subtestsFailed') return undefined;
          return { ...record, outcome: 'failed', detail: describe(event.data.details.error) };
        }
        if (data.skip !== undefined && data.skip !== false) {
          return { ...record, outcome: 'skipped', detail: typeof data.skip === 'string' ? data.skip : '' };
        }
        if (data.details.type === 'suite') return undefined;
        // With a process per file, a file without any test is reported as one test of the file's name.
        if (data.nesting === 0 && data.file !== undefined && resolve(root, data.name) === data.file) {
          return { ...record, outcome: 'failed', detail: 'The file contains no test.' };
        }
        return { ...record, outcome: 'passed', detail: '' };
      }
      default:
        return undefined;
    }
  };
}

function failureType(error: Error): unknown {
  return 'failureType' in error ? error.failureType : undefined;
}

/** The test's own error where there is one; node:test wraps it. */
function describe(error: Error): string {
  const { cause } = error;
  // An assertion error, inspected, would say everything twice: its message holds the difference already.
  if (cause instanceof Error && 'code' in cause && cause.code === 'ERR_ASSERTION')
    return withoutRunner(cause.stack ?? cause.message);
  if (cause instanceof Error) return withoutRunner(inspect(cause));
  if ('exitCode' in error && typeof error.exitCode === 'number')
    return `The process ended with code ${error.exitCode}.`;
  if ('signal' in error && typeof error.signal === 'string') return `The process was ended by ${error.signal}.`;
  return cause === undefined ? inspect(error) : inspect(cause);
}

/** The stack without the frames of the test runner and of Node itself. */
function withoutRunner(text: string): string {
  return text.replaceAll(/\n +at (?:[^\n]*\bnode:[^\n]*|[^\n]*\(<anonymous>\)(?=\n|$))/g, '');
}
