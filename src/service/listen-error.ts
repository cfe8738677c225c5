import { ServiceError } from '../core/error.ts';

/** Wraps the error of a socket that cannot listen (for example EADDRINUSE) in a message that names the options to change. */
export function toListenError(error: unknown): ServiceError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ServiceError(
    'invalid-request',
    `Cannot listen on the address: ${reason}. Choose another one with --port or --host.`,
    {
      param: 'port',
    },
  );
}
