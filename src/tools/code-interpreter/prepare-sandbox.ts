import { once } from 'node:events';
import { readFileSync, realpathSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CODE_CPU_PROGRAMS } from '../../core/limits.ts';
import type { CodeOutput } from '../../core/server-tools.ts';
import { attackSandbox } from './attack-sandbox.ts';
import type { ProgramLimits } from './child/messages.ts';
import type { Candidates, MakeSandbox } from './choose-sandboxes.ts';
import { OutOfTime } from './out-of-time.ts';
import { startProgramProcess } from './program-process.ts';
import type { ProgramProcess } from './program-process.ts';
import { pythonAttacks } from './python-attack.ts';
import type { HostPlaces, Sandbox } from './sandboxes/sandbox.ts';
import { openSnapshot } from './snapshot.ts';

export interface PrepareOptions {
  /** Ours, made where it is not there: an image of the interpreter. */
  readonly folder: string;
  /** Wheels that programs may import from. */
  readonly wheelsFolder?: string | undefined;
  readonly memoryMb: number;
  /** Of one program. */
  readonly seconds: number;
  readonly startMsMax: number;
  readonly limits: ProgramLimits;
  /** Ends the attacks; the sandbox holds nothing then. */
  readonly signal: AbortSignal;
}

export type Prepared =
  | { readonly sandbox: Sandbox; readonly start: () => ProgramProcess; readonly reasons: readonly string[] }
  | {
      readonly sandbox?: never;
      readonly start?: never;
      readonly reasons: readonly string[];
      /** Of some it could not be told in time whether they do. */
      readonly isLate: boolean;
    };

/** Here programs have less, so that taking too much of it takes no time. */
const ATTACKED_MEMORY_MB = 64;

/**
 * Finds the first sandbox that holds: it is attacked by a process that has all of the runtime, then by a program.
 * @returns without a sandbox where none does; `reasons` says why of each that does not.
 */
export async function prepareSandbox({ sandboxes, reasons }: Candidates, options: PrepareOptions): Promise<Prepared> {
  const failed = [...reasons];
  if (sandboxes.length === 0) return { reasons: failed, isLate: false };
  let isLate = false;
  const { folder, wheelsFolder, memoryMb, seconds } = options;
  const emptyFolder = join(folder, 'root');
  await mkdir(emptyFolder, { recursive: true, mode: 0o755 });
  const host: HostPlaces = { ...ownPlaces(), emptyFolder: realpathSync(emptyFolder) };
  const wheels = wheelsFolder === undefined ? undefined : realpathSync(wheelsFolder);
  const wheelNames =
    wheels === undefined ? [] : (await readdir(wheels)).filter((name) => name.endsWith('.whl')).toSorted();
  const cpuSeconds = seconds * CODE_CPU_PROGRAMS;
  for (const make of sandboxes) {
    options.signal.throwIfAborted();
    const attacked = make(host, { memoryMb: ATTACKED_MEMORY_MB, cpuSeconds });
    try {
      const broke = await attackSandbox(attacked, { memoryMb: ATTACKED_MEMORY_MB, signal: options.signal });
      if (broke !== undefined) throw new Error(broke);
      const sandbox = await withFiles(make, host, { ...options, wheels, cpuSeconds });
      const start = (): ProgramProcess =>
        startProgramProcess(sandbox, { ...options, msMax: seconds * 1_000, wheelNames });
      await attackByProgram(start(), memoryMb, options.signal);
      return { sandbox, start, reasons: failed };
    } catch (error) {
      isLate ||= error instanceof OutOfTime;
      failed.push(`${attacked.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { reasons: failed, isLate };
}

async function withFiles(
  make: MakeSandbox,
  host: HostPlaces,
  {
    folder,
    wheels,
    memoryMb,
    cpuSeconds,
    limits,
    signal,
  }: PrepareOptions & { readonly wheels: string | undefined; readonly cpuSeconds: number },
): Promise<Sandbox> {
  const bounds = { memoryMb, cpuSeconds };
  const pyodideVersion = versionOf(host.pyodideFolder);
  const snapshotFile = await openSnapshot({ folder, pyodideVersion, sandbox: make(host, bounds), limits, signal });
  const places = {
    ...host,
    snapshotFile: realpathSync(snapshotFile),
    ...(wheels !== undefined && { wheelsFolder: wheels }),
  };
  return make(places, bounds);
}

async function attackByProgram(process: ProgramProcess, memoryMb: number, signal: AbortSignal): Promise<void> {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const address = server.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    signal.addEventListener('abort', process.kill, { once: true });
    if (signal.aborted) process.kill();
    await process.ready;
    const { waysOut, memory } = pythonAttacks({ port, memoryMb });
    // Memory on its own: what it ends could not tell of the others any more.
    checkHeld(await process.run({ code: waysOut, files: [] }, signal));
    const took = await process.run({ code: memory, files: [] }, signal);
    if (took.error?.type !== 'memory') checkHeld(took);
  } finally {
    signal.removeEventListener('abort', process.kill);
    process.kill();
    server.close();
  }
}

/** @throws Error where the program got out; OutOfTime where it cannot be told. */
function checkHeld({ value, error }: CodeOutput): void {
  if (error?.type === 'time') throw new OutOfTime(`a program that attacks it took too long: ${error.message}`);
  if (value !== '[]')
    throw new Error(`it does not contain a program, which has ${value ?? error?.message ?? 'said nothing'}`);
}

function ownPlaces(): Omit<HostPlaces, 'emptyFolder'> {
  const own = (path: string): string => realpathSync(fileURLToPath(new URL(path, import.meta.url)));
  const require = createRequire(import.meta.url);
  return {
    node: realpathSync(process.execPath),
    childFolder: own('./child'),
    packageFile: own('../../../package.json'),
    pyodideFolder: dirname(realpathSync(require.resolve('pyodide/package.json'))),
  };
}

function versionOf(pyodideFolder: string): string {
  const told: unknown = JSON.parse(readFileSync(join(pyodideFolder, 'package.json'), 'utf8'));
  const version = typeof told === 'object' && told !== null && 'version' in told ? told.version : undefined;
  return typeof version === 'string' ? version : 'unknown';
}
