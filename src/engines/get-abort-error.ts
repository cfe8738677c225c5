import { ServiceError } from '../core/error.ts';
import { createCancelledError } from '../core/generation-errors.ts';

/** Returns the signal's reason if it is a `ServiceError`, and a `cancelled` error otherwise. */
export const getAbortError = (signal: AbortSignal): ServiceError =>
  signal.reason instanceof ServiceError ? signal.reason : createCancelledError();
