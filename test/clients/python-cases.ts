import { fileURLToPath } from 'node:url';
import { type Cases, describeProgramCases } from './program-cases.ts';
import { findPython } from './python.ts';

export interface PythonCases extends Cases {
  /** Package of requirements.txt, or of the overlay. */
  readonly client: string;
  /** `NAME` of the requirements-NAME.txt that is laid over requirements.txt. */
  readonly overlay?: string;
  /** File name in ./python. */
  readonly script: string;
}

/** One test for each case of a Python script. */
export function describePythonCases(title: string, { client, overlay, script, ...cases }: PythonCases): void {
  const { path, env, lacks } = findPython(client, overlay);
  const args = [fileURLToPath(new URL(`python/${script}`, import.meta.url))];
  const program = { command: path, args, env: { ...env, PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1' }, lacks };
  describeProgramCases(title, program, cases);
}
