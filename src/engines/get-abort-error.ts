import { ServiceError } from '../core/error.ts';

/** Returns the signal's reason if it is a `ServiceError`, and a `cancelled` error otherwise. */
export const getAbortError = (signal: AbortSignal): ServiceError =>
  signal.reason instanceof ServiceError ? signal.reason : new ServiceError('cancelled', 'The request was cancelled.');
