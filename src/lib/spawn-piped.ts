import { spawn, type ChildProcessWithoutNullStreams, type SpawnOptionsWithoutStdio } from 'node:child_process';
import { Readable, Writable } from 'node:stream';

/**
 * Starts a process with pipes, as `spawn` does. Where the process cannot be started because no file descriptor is free,
 * Node leaves the streams out before it reports the error; here they are empty, and the error comes as its event.
 * @param output `ignore`: the process has no standard output and error, which must not be used.
 */
export function spawnPiped(
  command: string,
  args: readonly string[],
  options: SpawnOptionsWithoutStdio,
  output: 'pipe' | 'ignore' = 'pipe',
): ChildProcessWithoutNullStreams {
  const child = spawn(command, args, { ...options, stdio: ['pipe', output, output] }) as ChildProcessWithoutNullStreams;
  const streams: { stdin?: Writable; stdout?: Readable; stderr?: Readable } = child;
  streams.stdin ??= new Writable({ write: (_chunk, _encoding, onWritten) => onWritten() });
  if (output === 'pipe') {
    streams.stdout ??= Readable.from([]);
    streams.stderr ??= Readable.from([]);
  }
  return child;
}
