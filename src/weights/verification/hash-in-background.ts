import { fileURLToPath } from 'node:url';
import { spawnPiped } from '../../lib/spawn-piped.ts';
import type { HashRequest } from './hash-slowly.ts';

/** Limit of the JavaScript heap of the process, in MB. */
const HEAP_MB_MAX = 64;

/** Characters of the child's standard error that are kept, from its end. */
const ERROR_TEXT_CHARS_MAX = 1_000;

/**
 * Hashes a file with SHA-256 in a process of the lowest priority, so that neither the event loop nor the engines wait for
 * it. An abort kills the process.
 * @throws Error when the file cannot be read; the signal's reason after an abort.
 */
export async function hashInBackground(request: HashRequest, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
  const entryPath = fileURLToPath(new URL(`./hash-process${extension}`, import.meta.url));
  const child = spawnPiped(
    process.execPath,
    [
      `--max-old-space-size=${HEAP_MB_MAX}`,
      '--disable-warning=ExperimentalWarning',
      entryPath,
      JSON.stringify(request),
    ],
    { env: {} },
  );
  child.stdin.on('error', () => undefined);
  const stop = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  let [output, errorText] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (errorText = (errorText + text).slice(-ERROR_TEXT_CHARS_MAX)));
  try {
    const termination = await new Promise<string>((resolve) => {
      child.on('error', (error) => resolve(error.message)).on('close', (code, by) => resolve(by ?? `code ${code}`));
    });
    signal.throwIfAborted();
    if (termination === 'code 0') return output.trim();
    throw new Error(`cannot hash ${request.path}: ${termination} ${errorText}`.trim());
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
