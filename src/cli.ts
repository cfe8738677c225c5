// Arguments, exit codes, and nothing else.
import { CommanderError } from 'commander';
import { ServiceError } from './core/error.ts';
import { createProgram } from './commands/program.ts';

/** 2: the arguments or the configuration are wrong; 1: anything else. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof ServiceError && error.kind === 'invalid-request' ? 2 : 1;
}

/** Undefined where it was told already. A stack is for faults of ours: what the machine refuses is one line. */
function complaintOf(error: unknown): string | undefined {
  if (error instanceof CommanderError) return undefined;
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ServiceError) {
    const { message, cause } = error;
    const isNew = cause instanceof Error && !message.includes(cause.message);
    return isNew ? `${message}\n  because: ${cause.message}` : message;
  }
  return 'syscall' in error ? error.message : (error.stack ?? error.message);
}

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The reader has left, as `head` does. What was asked for is done to its end all the same; a service goes on.
    if (error.code === 'EPIPE') return;
    process.stderr.write(`parley: the output cannot be written: ${error.message}\n`, () => process.exit(1));
  });
}

try {
  await createProgram(process).parseAsync(process.argv);
} catch (error) {
  process.exitCode = exitCodeOf(error);
  const complaint = complaintOf(error);
  if (complaint !== undefined) process.stderr.write(`parley: ${complaint}\n`);
}
