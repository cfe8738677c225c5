import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '../../core/error.ts';
import type { WhisperConversion } from './convert-whisper.ts';

export interface ConversionOptions {
  readonly signal: AbortSignal;
  /** Called with the number of bytes of weights written so far. */
  readonly onBytes: (bytes: number) => void;
}

/** Limit of the JavaScript heap, in MB. The buffers of one layer are outside of it. */
const HEAP_MB_MAX = 128;

/** Characters of the child's standard error that are kept, from its end. */
const ERROR_TEXT_CHARS_MAX = 4_000;

/**
 * Runs `convertWhisper` in a child process, which an abort kills.
 * @throws ServiceError `upstream-failed` with the reason; the signal's reason after an abort.
 */
export async function runConversion(request: WhisperConversion, { signal, onBytes }: ConversionOptions): Promise<void> {
  signal.throwIfAborted();
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  const entryPath = fileURLToPath(new URL(`./conversion-process${extension}`, import.meta.url));
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${HEAP_MB_MAX}`,
      '--disable-warning=ExperimentalWarning',
      entryPath,
      JSON.stringify(request),
    ],
    { env: {}, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const stop = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  let errorText = '';
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (errorText = (errorText + text).slice(-ERROR_TEXT_CHARS_MAX)));
  createInterface({ input: child.stdout }).on('line', (line) => onBytes(Number(line)));
  try {
    const termination = await new Promise<string>((resolve) => {
      child.on('error', (error) => resolve(error.message)).on('close', (code, by) => resolve(by ?? `code ${code}`));
    });
    signal.throwIfAborted();
    if (termination !== 'code 0')
      throw new ServiceError('upstream-failed', `The conversion failed: ${findReason(errorText) ?? termination}`);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Returns the message of the uncaught error that Node printed. */
const findReason = (text: string): string | undefined =>
  text
    .split('\n')
    .findLast((line) => /^\w*Error: /.test(line))
    ?.replace(/^\w*Error: /, '');
