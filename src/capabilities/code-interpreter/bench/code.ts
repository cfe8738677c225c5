import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createCodeInterpreter } from '../code-interpreter.ts';
import { withTemporaryFolder } from '../../../../bench/bench-service.ts';
import { measureRow } from '../../../../bench/result-table.ts';
import type { ResultRow } from '../../../../bench/result-table.ts';
import { waitUntil } from '../../../../bench/wait-until.ts';

const ROUNDS = 5;
const PROGRAM = 'print(6 * 7)';
const PEER = fileURLToPath(new URL('./bare-pyodide.ts', import.meta.url));
const SILENT_LOG = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Measures the time to a sandboxed program's first line, with and without a warm process, against bare Pyodide. */
export const measureCodeInterpreter = (logProgress: (text: string) => void): Promise<ResultRow[]> =>
  withTemporaryFolder((folder) => measureInFolder(folder, logProgress));

async function measureInFolder(folder: string, logProgress: (text: string) => void): Promise<ResultRow[]> {
  const settings = {
    driver: 'auto',
    image: '',
    memoryMb: 512,
    seconds: 30,
    containersMax: 2,
    folder,
    log: SILENT_LOG,
  } as const;
  const cold = createCodeInterpreter({ ...settings, level: 'strict', warm: 0 });
  const warm = createCodeInterpreter({ ...settings, level: 'strict', warm: 1 });
  try {
    for (const interpreter of [cold, warm]) {
      const { effectiveLevel, reason } = await interpreter.verify();
      if (effectiveLevel !== 'strict') throw new Error(reason);
    }
    const row = (measurement: string, goal: string, run: () => Promise<number>): Promise<ResultRow> =>
      measureRow(
        { measurement, unit: 'ms', peer: 'bare Pyodide, a new process', goal, rounds: ROUNDS, logProgress },
        run,
        measureBarePyodide,
      );
    const signal = new AbortController().signal;
    const measureFirstLine = async (interpreter: typeof cold): Promise<number> => {
      const startedAt = performance.now();
      const container = await interpreter.open(
        { tenant: { region: 'cn-beijing', workspace: 'bench' }, files: [] },
        signal,
      );
      const { stdout } = await container.run(PROGRAM, signal);
      const tookMs = performance.now() - startedAt;
      container.release();
      if (stdout !== '42\n') throw new Error(`the program printed ${JSON.stringify(stdout)}`);
      return tookMs;
    };
    const measureWarm = async (): Promise<number> => {
      // Waits until the last warm process is replaced, because the start of its successor is not part of the measurement.
      await waitUntil(() => Promise.resolve(warm.status().warmProcesses === 1), 60_000);
      return measureFirstLine(warm);
    };
    return [
      await row('first line of a program, warm', '< 300 ms', measureWarm),
      await row('first line of a program, cold', 'reported', () => measureFirstLine(cold)),
    ];
  } finally {
    await Promise.all([cold.close(), warm.close()]);
  }
}

function measureBarePyodide(): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PEER, PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.stdout.once('data', () => resolve(performance.now() - startedAt));
  });
}
