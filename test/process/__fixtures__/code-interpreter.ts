import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CodeContainer, CodeOutput } from '../../../src/core/server-tools.ts';
import { CODE_TRIAL_PAUSES_MS } from '../../../src/core/limits.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createCodeInterpreter } from '../../../src/tools/code-interpreter/code-interpreter.ts';
import type {
  CodeInterpreterOptions,
  CodeInterpreterStatus,
  RunningCodeInterpreter,
} from '../../../src/tools/code-interpreter/code-interpreter.ts';

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

export interface Bench extends AsyncDisposable {
  readonly interpreter: RunningCodeInterpreter;
  readonly status: CodeInterpreterStatus;
  /** Empty, and gone at the end. */
  readonly folder: string;
  open(workspace?: string, files?: readonly { readonly name: string; readonly path: string }[]): Promise<CodeContainer>;
  /** In a container of its own. */
  runAlone(code: string): Promise<CodeOutput>;
}

/** Short limits. */
export const SETTINGS = {
  level: 'strict',
  driver: 'auto',
  image: 'node:24-slim',
  memoryMb: 160,
  seconds: 60,
  containersMax: 4,
  warm: 0,
  log: SILENT,
} as const;

/** Images of Python are kept from one test file to the next: making one takes seconds. */
export const IMAGES_FOLDER = join(tmpdir(), `parley-test-images-${process.getuid?.() ?? 0}`);

/** The interpreter, when it is known what holds here. */
export async function proven(
  options: CodeInterpreterOptions,
): Promise<{ readonly interpreter: RunningCodeInterpreter; readonly status: CodeInterpreterStatus }> {
  let leaptMs = 0;
  const clock = { now: systemClock.now, monotonic: () => systemClock.monotonic() + leaptMs };
  const interpreter = createCodeInterpreter({ clock, ...options });
  let status = await interpreter.prepare();
  // What took too long on a busy machine is tried again as it would be later; a test with a clock of its own looks at that.
  for (const pauseMs of options.clock ? [] : CODE_TRIAL_PAUSES_MS) {
    if (status.inForce !== 'off' || !/tried again/.test(status.reason ?? '')) break;
    leaptMs += pauseMs;
    status = await interpreter.prepare();
  }
  return { interpreter, status };
}

/** A real interpreter with short limits. */
export async function openInterpreter(options: Partial<CodeInterpreterOptions> = {}): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-code-'));
  await mkdir(IMAGES_FOLDER, { recursive: true, mode: 0o700 });
  const { interpreter, status } = await proven({ ...SETTINGS, folder: IMAGES_FOLDER, ...options });
  const open: Bench['open'] = (workspace = 'one', files = []) => interpreter.open({ workspace, files }, AbortSignal.timeout(80_000));
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
      // What was killed may write its last file there.
      await rm(folder, { recursive: true, maxRetries: 10 });
    },
  };
}

/** Why what is kept in namespaces cannot be tested here; false where it can. */
export function whyNotStrict({ inForce, reason }: CodeInterpreterStatus): string | false {
  return inForce === 'strict' ? false : `strict does not hold on this machine: ${reason}`;
}
