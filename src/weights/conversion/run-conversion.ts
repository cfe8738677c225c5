import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '../../core/error.ts';
import type { WhisperConversion } from './convert-whisper.ts';

export interface ConversionNeeds {
  readonly signal: AbortSignal;
  /** Bytes of weights that have been written. */
  readonly onBytes: (bytes: number) => void;
}

/** MB of JavaScript objects; what is read and written stands beside them, a layer at a time. */
const HEAP_MB = 128;

/** Of what the process says when it fails. */
const ERROR_TEXT_MAX = 4_000;

/**
 * `convertWhisper` in a process of its own, which an abort ends.
 * @throws ServiceError `upstream-failed` with the reason; the signal's reason when it aborts.
 */
export async function runConversion(order: WhisperConversion, { signal, onBytes }: ConversionNeeds): Promise<void> {
  signal.throwIfAborted();
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  const main = fileURLToPath(new URL(`./conversion-process${extension}`, import.meta.url));
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${HEAP_MB}`, '--disable-warning=ExperimentalWarning', main, JSON.stringify(order)],
    { env: {}, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const stop = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  let errorText = '';
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (errorText = (errorText + text).slice(-ERROR_TEXT_MAX)));
  createInterface({ input: child.stdout }).on('line', (line) => onBytes(Number(line)));
  try {
    const end = await new Promise<string>((resolve) => {
      child.on('error', (error) => resolve(error.message)).on('close', (code, by) => resolve(by ?? `code ${code}`));
    });
    signal.throwIfAborted();
    if (end !== 'code 0')
      throw new ServiceError('upstream-failed', `The conversion failed: ${reasonIn(errorText) ?? end}`);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** The sentence in what Node says of an error that nobody caught. */
const reasonIn = (text: string): string | undefined =>
  text
    .split('\n')
    .findLast((line) => /^\w*Error: /.test(line))
    ?.replace(/^\w*Error: /, '');
