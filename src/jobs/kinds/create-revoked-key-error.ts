import { ServiceError } from '../../core/error.ts';

/** Creates the error of work whose API key was revoked or expired after the request. */
export const createRevokedKeyError = (): ServiceError =>
  new ServiceError('unauthenticated', 'The API key of the request is no longer valid.');
