import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CodeContainer, CodeOutput } from '../../../../../core/server-tools.ts';
import { SANDBOX_CHECK_RETRY_MS } from '../../../limits.ts';
import { systemClock } from '../../../../../lib/clock.ts';
import { createCodeInterpreter } from '../../../code-interpreter.ts';
import type {
  CodeInterpreterOptions,
  CodeInterpreterStatus,
  RunningCodeInterpreter,
} from '../../../code-interpreter.ts';

const SILENT_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** A real code interpreter for tests, with short limits. */
export interface TestInterpreter extends AsyncDisposable {
  readonly interpreter: RunningCodeInterpreter;
  readonly status: CodeInterpreterStatus;
  /** An empty folder for files of the test. Removed on disposal. */
  readonly folder: string;
  open(workspace?: string, files?: readonly { readonly name: string; readonly path: string }[]): Promise<CodeContainer>;
  /** Runs a program in a new container, and releases the container. */
  runAlone(code: string): Promise<CodeOutput>;
}

/** Options with short limits. */
export const TEST_SETTINGS = {
  level: 'strict',
  driver: 'auto',
  image: 'node:24-slim',
  memoryMb: 160,
  seconds: 60,
  containersMax: 4,
  containersPerWorkspace: 4,
  protectedMs: 0,
  warm: 0,
  log: SILENT_LOG,
} as const;

/** Holds snapshots of the interpreter for all test files, because creating a snapshot takes seconds. */
export const SNAPSHOTS_FOLDER = join(tmpdir(), `parley-test-images-${process.getuid?.() ?? 0}`);

/** Creates an interpreter and verifies its sandbox. Repeats a verification that took too long, as the service does. */
export async function createVerifiedInterpreter(
  options: CodeInterpreterOptions,
): Promise<{ readonly interpreter: RunningCodeInterpreter; readonly status: CodeInterpreterStatus }> {
  let skippedMs = 0;
  const clock = { now: systemClock.now, monotonic: () => systemClock.monotonic() + skippedMs };
  const interpreter = createCodeInterpreter({ clock, ...options });
  let status = await interpreter.verify();
  // Moves the clock forward to the next retry, unless the test passes a clock and checks the retries itself.
  for (const retryMs of options.clock ? [] : SANDBOX_CHECK_RETRY_MS) {
    if (status.effectiveLevel !== 'off' || !/retried|retry is in progress/.test(status.reason ?? '')) break;
    skippedMs += retryMs;
    status = await interpreter.verify();
  }
  return { interpreter, status };
}

/** Opens an interpreter whose sandbox is verified. */
export async function openTestInterpreter(options: Partial<CodeInterpreterOptions> = {}): Promise<TestInterpreter> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-code-'));
  await mkdir(SNAPSHOTS_FOLDER, { recursive: true, mode: 0o700 });
  const { interpreter, status } = await createVerifiedInterpreter({ ...TEST_SETTINGS, folder: SNAPSHOTS_FOLDER, ...options });
  const open: TestInterpreter['open'] = (workspace = 'one', files = []) => interpreter.open({ tenant: { region: 'cn-beijing', workspace }, files }, AbortSignal.timeout(80_000));
  return {
    interpreter,
    status,
    folder,
    open,
    async runAlone(code) {
      const container = await open();
      try {
        return await container.run(code, AbortSignal.timeout(80_000));
      } finally {
        container.release();
      }
    },
    async [Symbol.asyncDispose]() {
      await interpreter.close();
      // A killed process may still be writing its last file.
      await rm(folder, { recursive: true, maxRetries: 10 });
    },
  };
}

/** Returns why tests of the strict sandbox must be skipped on this machine, or false if they can run. */
export function getStrictSkipReason({ effectiveLevel, reason }: CodeInterpreterStatus): string | false {
  return effectiveLevel === 'strict' ? false : `the strict sandbox does not work on this machine: ${reason}`;
}
