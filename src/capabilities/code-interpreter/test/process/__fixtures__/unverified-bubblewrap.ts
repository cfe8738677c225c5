import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseSandboxes } from '../../../choose-sandboxes.ts';
import { CODE_FILES_BYTES_MAX, CODE_FILES_MAX, CODE_OUTPUT_BYTES_MAX, CODE_START_MS_MAX, CODE_TEXT_CHARS_MAX } from '../../../limits.ts';
import { ensureNativePrograms } from '../../../native/native-programs.ts';
import { getProcessor } from '../../../native/system-calls.ts';
import { createSandboxWithFiles, findHostPaths } from '../../../prepare-sandbox.ts';
import { startProgramProcess } from '../../../program-process.ts';
import type { ProgramProcess } from '../../../program-process.ts';
import { SNAPSHOTS_FOLDER, TEST_SETTINGS, type TestInterpreter } from './test-interpreter.ts';

/**
 * Opens programs in bubblewrap without a verification, which fails for root: bubblewrap limits no processes of root. That
 * concerns native processes only, not the programs.
 * @param seconds Time limit of a program.
 */
export async function openUnverifiedBubblewrap(seconds: number): Promise<Omit<TestInterpreter, 'interpreter'>> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bubblewrap-'));
  const emptyFolder = join(folder, 'root');
  await mkdir(emptyFolder);
  const processor = getProcessor();
  const { sandboxes, reasons } = chooseSandboxes({ level: 'strict', driver: 'bubblewrap', image: '' });
  const [createSandbox] = processor ? sandboxes : [];
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
  const files = { folder: SNAPSHOTS_FOLDER, wheels: undefined, signal: AbortSignal.timeout(120_000) };
  const sandbox =
    createSandbox && (await createSandboxWithFiles(createSandbox, host, { ...files, limits, memoryMb, cpuSeconds: 600 }));
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
