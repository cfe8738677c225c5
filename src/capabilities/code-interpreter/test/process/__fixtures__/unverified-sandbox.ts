import { realpathSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxCandidates } from '../../../choose-sandboxes.ts';
import { CODE_FILES_BYTES_MAX, CODE_FILES_MAX, CODE_OUTPUT_BYTES_MAX, CODE_START_MS_MAX, CODE_TEXT_CHARS_MAX } from '../../../limits.ts';
import { ensureNativePrograms } from '../../../native/native-programs.ts';
import { getProcessor } from '../../../native/system-calls.ts';
import { createSandboxWithFiles, findHostPaths } from '../../../prepare-sandbox.ts';
import { startProgramProcess } from '../../../program-process.ts';
import type { ProgramProcess } from '../../../program-process.ts';
import { SNAPSHOTS_FOLDER, TEST_SETTINGS, type TestInterpreter } from './test-interpreter.ts';

/** Programs in a sandbox that was not verified; otherwise like a test interpreter. */
export type UnverifiedInterpreter = Omit<TestInterpreter, 'interpreter'>;

interface UnverifiedSandboxOptions {
  readonly candidates: SandboxCandidates;
  /** Name of the sandbox. Default: that of the first candidate. */
  readonly sandbox?: string | undefined;
  /** Time limit of a program. */
  readonly seconds: number;
  /** Folder of the interpreter's snapshot. Default: that of all test files. */
  readonly snapshotsFolder?: string;
}

/**
 * Opens programs in a sandbox without a verification, which takes several times as long as a program: for a sandbox that
 * has been verified already, and for bubblewrap, whose verification fails for root, because bubblewrap limits no processes
 * of root. That concerns native processes only, not the programs.
 */
export async function openUnverifiedSandbox({
  candidates: { sandboxes, reasons },
  sandbox: name,
  seconds,
  snapshotsFolder = SNAPSHOTS_FOLDER,
}: UnverifiedSandboxOptions): Promise<UnverifiedInterpreter> {
  const folder = realpathSync(await mkdtemp(join(tmpdir(), 'parley-unverified-')));
  const emptyFolder = join(folder, 'root');
  await mkdir(emptyFolder);
  const processor = getProcessor();
  const native = processor && (await ensureNativePrograms(join(folder, 'native'), processor));
  const { memoryMb } = TEST_SETTINGS;
  const limits = {
    memoryBytes: memoryMb * 2 ** 20,
    outputBytesMax: CODE_OUTPUT_BYTES_MAX,
    textCharactersMax: CODE_TEXT_CHARS_MAX,
    filesMax: CODE_FILES_MAX,
    filesBytesMax: CODE_FILES_BYTES_MAX,
  };
  const host = { ...findHostPaths(), emptyFolder, ...(native && { native }) };
  const bounds = { memoryMb, cpuSeconds: 600 };
  const createSandbox =
    processor && sandboxes.find((create) => name === undefined || create(host, bounds).name === name);
  const files = { folder: snapshotsFolder, wheels: undefined, signal: AbortSignal.timeout(120_000) };
  const sandbox =
    createSandbox && (await createSandboxWithFiles(createSandbox, host, { ...files, ...bounds, limits }));
  const processes: ProgramProcess[] = [];
  const start = async (): Promise<ProgramProcess> => {
    if (!sandbox) throw new Error(reasons.join());
    const process = startProgramProcess(sandbox, {
      limits,
      msMax: seconds * 1000,
      startMsMax: CODE_START_MS_MAX,
      wheelNames: [],
    });
    processes.push(process);
    await process.ready;
    return process;
  };
  return {
    folder,
    status: {
      configuredLevel: 'strict',
      effectiveLevel: sandbox ? 'strict' : 'off',
      reason: reasons.join(),
      warmProcesses: 0,
    },
    async open() {
      const { run, kill } = await start();
      let last: Promise<unknown> = Promise.resolve();
      return {
        id: 'unverified',
        run(code, signal) {
          // A process runs one program at a time.
          const next = last.then(() => run({ code, files: [] }, signal));
          last = next.catch(() => undefined);
          return next;
        },
        release: kill,
      };
    },
    async runAlone(code) {
      const { run, kill } = await start();
      return run({ code, files: [] }, AbortSignal.timeout(80_000)).finally(kill);
    },
    async [Symbol.asyncDispose]() {
      for (const { kill } of processes) kill();
      await Promise.all(processes.map(({ removal }) => removal));
      await rm(folder, { recursive: true, maxRetries: 10 });
    },
  };
}
