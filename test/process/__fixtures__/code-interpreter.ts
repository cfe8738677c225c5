import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CodeContainer, CodeOutput } from '../../../src/core/server-tools.ts';
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
  seconds: 20,
  containersMax: 4,
  warm: 0,
  log: SILENT,
} as const;

/** Images of Python are kept from one test file to the next: making one takes seconds. */
export const IMAGES_FOLDER = join(tmpdir(), `parley-test-images-${process.getuid?.() ?? 0}`);

/** A real interpreter with short limits. */
export async function openInterpreter(options: Partial<CodeInterpreterOptions> = {}): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-code-'));
  await mkdir(IMAGES_FOLDER, { recursive: true, mode: 0o700 });
  const interpreter = createCodeInterpreter({
    ...SETTINGS,
    folder: IMAGES_FOLDER,
    ...options,
  });
  const status = await interpreter.prepare();
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
      await rm(folder, { recursive: true });
    },
  };
}

/** Why what is kept in namespaces cannot be tested here; false where it can. */
export function whyNotStrict({ inForce, reason }: CodeInterpreterStatus): string | false {
  return inForce === 'strict' ? false : `strict does not hold on this machine: ${reason}`;
}
