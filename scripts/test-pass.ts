import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TestRecord } from './reporter.ts';
import { finishGroup, signalGroup, spawnGroup } from './process-group.ts';

export interface TestPass {
  readonly name: string;
  /** Started in this order if each file has a process. */
  readonly files: readonly string[];
  /** `none`: one process runs many files; fast, for tests that start nothing. `process`: one process per file. */
  readonly isolation: 'none' | 'process';
  /** Test processes that run side by side. */
  readonly concurrency: number;
  /** Time limit of a single test in ms. */
  readonly testTimeoutMs: number;
  /** Time limit of the whole pass in ms. Beyond, every process of the pass is killed. */
  readonly passTimeoutMs: number;
  readonly env: NodeJS.ProcessEnv;
  /** Time in ms that processes may take to exit after their tests. Default: many times what they need. */
  readonly exitMsMax?: number | undefined;
  /** Receives the output of the tests when something failed. Default: prints it. */
  readonly showOutput?: (output: string) => void;
  /** Receives every file when it is finished. */
  readonly onFile?: (file: FinishedFile) => void;
  /** Receives what tests report about themselves. */
  readonly onNote?: (text: string) => void;
}

export type FinishedFile = Extract<TestRecord, { type: 'file' }>;
export type FinishedTest = Extract<TestRecord, { type: 'test' }>;

const FILES_RUNNER = fileURLToPath(new URL('run-test-files.ts', import.meta.url));

/** Characters of output that are kept to be shown with a failure. */
const OUTPUT_CHARS_MAX = 64 * 1024;

/** Time in ms for reading the output of a pass whose process has exited; longer than a busy machine needs. */
const STREAMS_CLOSE_MS_MAX = 20_000;

/**
 * Runs test files with node:test and passes every finished test to `onTest` at once.
 * @returns faults besides failed tests: a crash, a timeout, a process left running.
 */
export async function runTestPass(pass: TestPass, onTest: (test: FinishedTest) => void): Promise<readonly string[]> {
  // If each file has a process, the runner starts several at once; without, each share of the files gets a runner.
  const shares = pass.isolation === 'process' ? [pass.files] : splitIntoShares(pass.files, pass.concurrency);
  const faults = await Promise.all(shares.map((files) => runFiles({ ...pass, files }, onTest)));
  return faults.flat();
}

/** Deals files out in order: neighboring files of a folder often take equally long. */
function splitIntoShares(files: readonly string[], shareCount: number): readonly (readonly string[])[] {
  const shares = Array.from({ length: shareCount }, (_, hand) => files.filter((_, at) => at % shareCount === hand));
  return shares.filter((share) => share.length > 0);
}

async function runFiles(
  { showOutput = printOutput, ...pass }: TestPass,
  onTest: (test: FinishedTest) => void,
): Promise<readonly string[]> {
  const isShared = pass.isolation === 'none';
  const child = spawnGroup(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', ...createRunnerArguments(pass)],
    {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...pass.env, ...(isShared && { PARLEY_TEST_FILES: JSON.stringify(pass.files) }) },
    },
  );

  let output = '';
  const appendOutput = (text: string): void => {
    output = (output + text).slice(-OUTPUT_CHARS_MAX);
  };
  child.stdout?.setEncoding('utf8').on('data', appendOutput);
  child.stderr?.setEncoding('utf8').on('data', appendOutput);

  let hasEndRecord = false;
  let failed = 0;
  child.on('message', (message) => {
    if (!isTestRecord(message)) return;
    if (message.type === 'file') return pass.onFile?.(message);
    if (message.type === 'output') return appendOutput(message.text);
    if (message.type === 'note') return pass.onNote?.(message.text);
    if (message.type === 'end') {
      hasEndRecord = true;
      return;
    }
    if (message.outcome === 'failed') failed += 1;
    onTest(message);
  });

  const closed = once(child, 'close');
  const faults: string[] = [];
  const timer = setTimeout(() => {
    faults.push(`did not finish within ${pass.passTimeoutMs / 1000} s`);
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
  }, pass.passTimeoutMs);
  const [code, signal] = await once(child, 'exit');
  clearTimeout(timer);
  // A pass that was killed may still be exiting: only one that finished by itself can leave a process behind.
  const isTimedOut = faults.length > 0;
  const leftProcesses = await finishGroup(child, pass.exitMsMax);
  // The last output is still in the pipe; a process that left the group may hold the streams open longer.
  await Promise.race([closed, delay(STREAMS_CLOSE_MS_MAX, undefined, { ref: false })]);
  if (faults.length === 0 && (!hasEndRecord || (code !== 0 && failed === 0))) {
    faults.push(`exited with ${signal ?? `code ${code}`}${hasEndRecord ? '' : ' before all tests were reported'}`);
  }
  if (!isTimedOut) faults.push(...leftProcesses.map((command) => `left running: ${command}`));
  if ((failed > 0 || faults.length > 0) && output.trim() !== '') showOutput(output.trimEnd());
  return faults;
}

function createRunnerArguments({
  isolation,
  concurrency,
  testTimeoutMs,
  files,
}: Pick<TestPass, 'isolation' | 'concurrency' | 'testTimeoutMs' | 'files'>): readonly string[] {
  if (isolation === 'process') return [FILES_RUNNER, String(testTimeoutMs), String(concurrency), ...files];
  return [
    '--test',
    '--test-isolation=none',
    `--test-concurrency=${concurrency}`,
    `--test-timeout=${testTimeoutMs}`,
    '--test-reporter=./scripts/reporter.ts',
    // Property tests are in passes without isolation only; elsewhere every process would load fast-check.
    '--import=./test/property-runs.ts',
    './scripts/file-suites.ts',
  ];
}

function printOutput(output: string): void {
  console.log(indent(`output:\n${output}`));
}

export function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '    ');
}

function isTestRecord(message: unknown): message is TestRecord {
  return typeof message === 'object' && message !== null && 'type' in message;
}
