import type { Log } from '../core/telemetry.ts';
import type { Service } from './service.ts';

/** Time in ms that running requests get after an unexpected error. Beyond: they end with the error of their protocol. */
const DRAIN_MS_MAX = 5_000;

interface LastResortDeps {
  readonly service: Pick<Service, 'close' | 'abortRequests'>;
  readonly log: Log;
  /** The process. */
  readonly target: Pick<NodeJS.Process, 'on' | 'exit'>;
  readonly drainMsMax?: number;
}

/**
 * Handles errors that nobody else handles: an `error` event without a listener, an exception in a callback, a rejection
 * that nobody awaits. The state of the process is then unknown, so it logs the error, accepts no further requests, lets
 * the running ones finish, and exits with code 1. Whoever started the process starts it again.
 */
export function exitOnUnexpectedError({ service, log, target, drainMsMax = DRAIN_MS_MAX }: LastResortDeps): void {
  let isExiting = false;

  const drain = async (): Promise<void> => {
    const timer = Promise.withResolvers<void>();
    setTimeout(timer.resolve, drainMsMax);
    await Promise.race([service.close().catch(() => undefined), timer.promise]);
    await service.abortRequests().catch(() => undefined);
  };

  target.on('uncaughtException', (error: unknown, origin: string) => {
    log.error('unexpected error; the process exits', { error, origin });
    if (isExiting) return;
    isExiting = true;
    void drain().finally(() => target.exit(1));
  });
}
