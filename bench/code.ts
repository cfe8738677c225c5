import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCodeInterpreter } from '../src/tools/code-interpreter/code-interpreter.ts';
import { alternate, ratioOf } from './pairs.ts';
import type { Row } from './table.ts';
import { until } from './until.ts';

const ROUNDS = 5;
const PROGRAM = 'print(6 * 7)';
const PEER = fileURLToPath(new URL('./peers/bare-pyodide.ts', import.meta.url));
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** The first line of a program in the sandbox, with a process in reserve and without, beside Pyodide in a bare Node process. */
export async function code(note: (text: string) => void): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const settings = {
    driver: 'auto',
    image: '',
    memoryMb: 512,
    seconds: 30,
    containersMax: 2,
    folder,
    log: SILENT,
  } as const;
  const cold = createCodeInterpreter({ ...settings, level: 'strict', warm: 0 });
  const warm = createCodeInterpreter({ ...settings, level: 'strict', warm: 1 });
  try {
    for (const interpreter of [cold, warm]) {
      const { inForce, reason } = await interpreter.prepare();
      if (inForce !== 'strict') throw new Error(reason);
    }
    const row = async (what: string, run: () => Promise<number>): Promise<Row> => {
      note(what);
      const pairs = await alternate(ROUNDS, run, bare, note);
      return {
        what,
        unit: 'ms',
        ...pairs,
        peer: 'bare Pyodide, a new process',
        ratio: ratioOf(pairs),
        goal: 'reported',
      };
    };
    const signal = new AbortController().signal;
    const firstLine = async (interpreter: typeof cold): Promise<number> => {
      const startedAt = performance.now();
      const container = await interpreter.open({ workspace: 'bench', files: [] }, signal);
      const { stdout } = await container.run(PROGRAM, signal);
      const tookMs = performance.now() - startedAt;
      container.release();
      if (stdout !== '42\n') throw new Error(`the program said ${stdout}`);
      return tookMs;
    };
    const rested = async (): Promise<number> => {
      // The reserve is filled when the one before has got ready; that is not what is measured.
      await until(() => Promise.resolve(warm.status().inReserve === 1), 60_000);
      return firstLine(warm);
    };
    const warmRow = await row('first line of a program, warm', rested);
    return [{ ...warmRow, goal: '< 300 ms' }, await row('first line of a program, cold', () => firstLine(cold))];
  } finally {
    await Promise.all([cold.close(), warm.close()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

function bare(): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PEER, PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.stdout.once('data', () => resolve(performance.now() - startedAt));
  });
}
