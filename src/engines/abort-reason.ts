import { ServiceError } from '../core/error.ts';

/** What a call rejects with when its signal has aborted: the reason where it is one of ours, else `cancelled`. */
export const abortReason = (signal: AbortSignal): ServiceError =>
  signal.reason instanceof ServiceError ? signal.reason : new ServiceError('cancelled', 'The request was cancelled.');
