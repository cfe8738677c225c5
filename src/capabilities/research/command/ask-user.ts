import { createInterface } from 'node:readline/promises';
import { ServiceError } from '../../../core/error.ts';

export const NOTHING_WRITTEN = 'Stopped. Nothing was written.';

export interface PromptStreams {
  readonly stdin: NodeJS.ReadStream;
  /** Shows the prompt. Standard output may receive the report. */
  readonly stderr: NodeJS.WriteStream;
}

/** Reads a line from the terminal; '' if the input was closed. */
export type AskUser = (prompt: string, signal: AbortSignal) => Promise<string>;

/** Returns undefined if there is no terminal. */
export function createAskUser({ stdin, stderr }: PromptStreams): AskUser | undefined {
  if (!stdin.isTTY || !stderr.isTTY) return undefined;
  return async (prompt, signal) => {
    const prompter = createInterface({ input: stdin, output: stderr });
    const { promise: closed, resolve, reject } = Promise.withResolvers<string>();
    // While readline controls the terminal, Ctrl-C causes no SIGINT.
    prompter.on('SIGINT', () => {
      stderr.write('\n');
      reject(new ServiceError('cancelled', NOTHING_WRITTEN));
    });
    prompter.on('close', () => resolve(''));
    try {
      return await Promise.race([prompter.question(prompt, { signal }), closed]);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      prompter.close();
    }
  };
}
