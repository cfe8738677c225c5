import { ServiceError } from '../core/error.ts';

/** Creates the error for an invalid value of a record, at a path such as `models.x.contextTokens`. */
export const createRecordError = (path: string, message: string): ServiceError =>
  new ServiceError('invalid-request', `${path}: ${message}`, { param: path });
