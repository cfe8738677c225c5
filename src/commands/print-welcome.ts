import type { Service } from '../service/service.ts';
import { formatWelcome, type WelcomeOptions } from './format-welcome.ts';

interface PrintWelcomeOptions extends Omit<WelcomeOptions, 'report' | 'isTerminal'> {
  readonly service: Pick<Service, 'buildReport'>;
  /** Settles when sandbox verification is finished, possibly after the text was printed. */
  readonly tools: Promise<void>;
  readonly signal: AbortSignal;
  readonly stdout: { readonly isTTY?: boolean | undefined; write(text: string): unknown };
}

/**
 * Longest wait in ms for sandbox verification; Parley's choice. It takes half a second on an idle machine and some
 * seconds at the first start. After the wait the text says that verification is still running.
 */
const TOOLS_WAIT_MS_MAX = 5_000;

/**
 * Prints the start-up text when verification is finished or the wait is over. Prints nothing if the service stops
 * before.
 */
export async function printWelcome({
  service,
  tools,
  signal,
  stdout,
  ...welcomeOptions
}: PrintWelcomeOptions): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, TOOLS_WAIT_MS_MAX);
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  try {
    await Promise.race([tools, timeout]);
  } finally {
    clearTimeout(timer);
  }
  if (signal.aborted) return;
  const isTerminal = stdout.isTTY === true;
  stdout.write(formatWelcome({ report: await service.buildReport(), isTerminal, ...welcomeOptions }));
}
