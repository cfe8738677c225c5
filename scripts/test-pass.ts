import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { TestRecord } from './reporter.ts';
import { endGroup, signalGroup, spawnGroup } from './process-group.ts';

export interface TestPass {
  readonly name: string;
  readonly files: readonly string[];
  /** One process for many files (fast; for tests that start nothing), or one for each. */
  readonly isolation: 'none' | 'process';
  /** Processes of test files that run side by side. */
  readonly atOnce: number;
  /** For a single test, in ms. */
  readonly testTimeoutMs: number;
  /** For the whole pass, in ms; beyond it, everything it started is killed. */
  readonly passTimeoutMs: number;
  readonly env: NodeJS.ProcessEnv;
  /** Takes what the tests printed, when something went wrong. Default: the terminal. */
  readonly showOutput?: (output: string) => void;
}

export type FinishedTest = Extract<TestRecord, { type: 'test' }>;

/** Bytes of output that are kept to be shown beside a failure. */
const OUTPUT_MAX = 64 * 1024;

/** How long a pass whose process has ended may keep its streams open, in ms; longer than a busy machine takes to read them. */
const STREAMS_CLOSE_MS_MAX = 20_000;

/**
 * Runs test files under node:test. Every finished test is handed to `onTest` at once.
 * @returns what went wrong besides failed tests: a crash, a timeout, a process left running.
 */
export async function runTestPass(pass: TestPass, onTest: (test: FinishedTest) => void): Promise<readonly string[]> {
  // With a process for each file, the runner itself starts so many; without, there is one runner for each share.
  const shares = pass.isolation === 'process' ? [pass.files] : deal(pass.files, pass.atOnce);
  const faults = await Promise.all(shares.map((files) => runFiles({ ...pass, files }, onTest)));
  return faults.flat();
}

/** Every so-manieth file, in order: neighbours in a folder often take alike. */
function deal(files: readonly string[], hands: number): readonly (readonly string[])[] {
  const shares = Array.from({ length: hands }, (_, hand) => files.filter((_, at) => at % hands === hand));
  return shares.filter((share) => share.length > 0);
}

async function runFiles(
  { showOutput = printOutput, ...pass }: TestPass,
  onTest: (test: FinishedTest) => void,
): Promise<readonly string[]> {
  const child = spawnGroup(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--test',
      `--test-isolation=${pass.isolation}`,
      `--test-concurrency=${pass.atOnce}`,
      `--test-timeout=${pass.testTimeoutMs}`,
      '--test-reporter=./scripts/reporter.ts',
      ...pass.files,
    ],
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: pass.env },
  );

  let output = '';
  const keep = (text: string): void => {
    output = (output + text).slice(-OUTPUT_MAX);
  };
  child.stdout?.setEncoding('utf8').on('data', keep);
  child.stderr?.setEncoding('utf8').on('data', keep);

  let ended = false;
  let failed = 0;
  child.on('message', (message) => {
    if (!isTestRecord(message)) return;
    if (message.type === 'output') return keep(message.text);
    if (message.type === 'end') {
      ended = true;
      return;
    }
    if (message.outcome === 'failed') failed += 1;
    onTest(message);
  });

  const closed = once(child, 'close');
  const faults: string[] = [];
  const timer = setTimeout(() => {
    faults.push(`did not end within ${pass.passTimeoutMs / 1000} s`);
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
  }, pass.passTimeoutMs);
  const [code, signal] = await once(child, 'exit');
  clearTimeout(timer);
  // Whoever was killed as late may still be dying: only a pass that ended by itself can leave a process behind.
  const killed = faults.length > 0;
  const left = await endGroup(child);
  // What it said last is still on its way; a process that left the group may hold the streams open for longer.
  await Promise.race([closed, delay(STREAMS_CLOSE_MS_MAX, undefined, { ref: false })]);
  if (faults.length === 0 && (!ended || (code !== 0 && failed === 0))) {
    faults.push(`ended with ${signal ?? `code ${code}`}${ended ? '' : ' before all tests were reported'}`);
  }
  if (!killed) faults.push(...left.map((command) => `left running: ${command}`));
  if ((failed > 0 || faults.length > 0) && output.trim() !== '') showOutput(output.trimEnd());
  return faults;
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
