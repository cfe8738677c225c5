import { fileURLToPath } from 'node:url';
import { type ProgramCases, describeProgramCases } from './program-cases.ts';
import { findPython } from './python.ts';

export interface PythonCases extends ProgramCases {
  /** A package of requirements.txt or of the overlay. */
  readonly client: string;
  /** `NAME` of the file requirements-NAME.txt whose packages take precedence over requirements.txt. */
  readonly overlay?: string;
  /** Name of a file in ./python. */
  readonly script: string;
}

/** Declares one test for each case of a Python script. */
export function describePythonCases(title: string, { client, overlay, script, ...cases }: PythonCases): void {
  const { path, env, skipReason } = findPython(client, overlay);
  const args = [fileURLToPath(new URL(`python/${script}`, import.meta.url))];
  const program = {
    command: path,
    args,
    env: { ...env, PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1' },
    skipReason,
  };
  describeProgramCases(title, program, cases);
}
