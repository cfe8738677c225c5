import { createInterface } from 'node:readline/promises';
import { ServiceError } from '../../core/error.ts';

export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  /** The line is written here: standard output may hold the report. */
  readonly stderr: NodeJS.WriteStream;
}

/** One line of a person at a terminal; '' where they have closed it. Undefined where there is no terminal. */
export type AskPerson = (prompt: string, signal: AbortSignal) => Promise<string>;

export function createAskPerson({ stdin, stderr }: Terminal): AskPerson | undefined {
  if (!stdin.isTTY || !stderr.isTTY) return undefined;
  return async (prompt, signal) => {
    const lines = createInterface({ input: stdin, output: stderr });
    const { promise: closed, resolve, reject } = Promise.withResolvers<string>();
    // A terminal in the hands of readline sends no SIGINT for Ctrl-C.
    lines.on('SIGINT', () => {
      stderr.write('\n');
      reject(new ServiceError('cancelled', 'Stopped. Nothing was written.'));
    });
    lines.on('close', () => resolve(''));
    try {
      return await Promise.race([lines.question(prompt, { signal }), closed]);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      lines.close();
    }
  };
}
