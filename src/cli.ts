// Arguments, exit codes, and nothing else.
import { CommanderError } from 'commander';
import { ServiceError } from './core/error.ts';
import { createProgram } from './commands/program.ts';

/** 2: the arguments or the configuration are wrong; 1: anything else. */
const exitCodeOf = (error: unknown): number =>
  error instanceof ServiceError && error.kind === 'invalid-request' ? 2 : 1;

try {
  await createProgram(process).parseAsync(process.argv);
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    process.exitCode = exitCodeOf(error);
    const cause =
      error instanceof ServiceError && error.cause instanceof Error ? `\n  because: ${error.cause.message}` : '';
    process.stderr.write(
      `parley: ${error instanceof ServiceError ? error.message : String((error as Error).stack ?? error)}${cause}\n`,
    );
  }
}
