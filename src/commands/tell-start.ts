import type { Service } from '../service/service.ts';
import { welcome } from './welcome.ts';
import type { Welcome } from './welcome.ts';

interface Start extends Omit<Welcome, 'report'> {
  readonly service: Pick<Service, 'report'>;
  /** Settled when it is known what models may really use here; it may go on for longer than is waited for. */
  readonly tools: Promise<void>;
  readonly signal: AbortSignal;
  readonly stdout: { write(text: string): unknown };
}

/**
 * Ours: ms that the first lines wait until it is known whether programs can be contained: half a second on a machine at rest,
 * some seconds at the first start. Beyond: they say that it is still being tried.
 */
const TOOLS_MS_MAX = 5_000;

/** Tells what is there, once that is known as far as it soon can be. Nothing is told where the service stops before. */
export async function tellStart({ service, tools, signal, stdout, ...told }: Start): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, TOOLS_MS_MAX);
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  try {
    await Promise.race([tools, over]);
  } finally {
    clearTimeout(timer);
  }
  if (!signal.aborted) stdout.write(welcome({ report: await service.report(), ...told }));
}
