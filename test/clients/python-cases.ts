import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ProgramCases, describeProgramCases } from './program-cases.ts';
import { findPython } from './python.ts';

export interface PythonCases extends ProgramCases {
  /** A package of requirements.txt or of the overlay. */
  readonly client: string;
  /** `NAME` of the file requirements-NAME.txt whose packages take precedence over requirements.txt. */
  readonly overlay?: string;
  /** Name of a file in ./python, or a URL. It may import the modules of ./python. */
  readonly script: string | URL;
}

const PYTHON_FOLDER = new URL('python/', import.meta.url);

/** Declares one test for each case of a Python script. */
export function describePythonCases(title: string, { client, overlay, script, ...cases }: PythonCases): void {
  const { path, env, skipReason } = findPython(client, overlay);
  const args = [fileURLToPath(typeof script === 'string' ? new URL(script, PYTHON_FOLDER) : script)];
  const program = {
    command: path,
    args,
    env: {
      ...env,
      PYTHONPATH: [fileURLToPath(PYTHON_FOLDER), env.PYTHONPATH].filter(Boolean).join(delimiter),
      PYTHONUTF8: '1',
    },
    skipReason,
  };
  describeProgramCases(title, program, cases);
}
