import { ServiceError } from '../core/error.ts';

/** What a person reads of a socket's failure, e.g. EADDRINUSE. */
export function cannotListen(error: unknown): ServiceError {
  const reason = error instanceof Error ? error.message : String(error);
  return new ServiceError('invalid-request', `The address cannot be used: ${reason}. Another one: --port, --host.`, {
    param: 'port',
  });
}
