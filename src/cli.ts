// Entry point of the `parley` command: runs the program and sets the exit code.
import { CommanderError } from 'commander';
import * as capabilities from './capabilities.ts';
import { ServiceError } from './core/error.ts';
import { createProgram } from './commands/program.ts';

/** Returns the exit code: 2 for wrong arguments or configuration, 1 for other errors. */
function getExitCode(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof ServiceError && error.kind === 'invalid-request' ? 2 : 1;
}

/** Returns the text of an error; undefined if commander has printed it. Only programming errors get a stack trace. */
function formatError(error: unknown): string | undefined {
  if (error instanceof CommanderError) return undefined;
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ServiceError) {
    const { message, cause } = error;
    const isNew = cause instanceof Error && !message.includes(cause.message);
    return isNew ? `${message}\n  Cause: ${cause.message}` : message;
  }
  return 'syscall' in error ? error.message : (error.stack ?? error.message);
}

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of a pipe has exited, e.g. `head`. The command still finishes its work, and a service keeps running.
    if (error.code === 'EPIPE') return;
    process.stderr.write(`parley: cannot write the output: ${error.message}\n`, () => process.exit(1));
  });
}

try {
  await createProgram(process, Object.values(capabilities)).parseAsync(process.argv);
} catch (error) {
  process.exitCode = getExitCode(error);
  const text = formatError(error);
  if (text !== undefined) process.stderr.write(`parley: ${text}\n`);
}
