import { ServiceError } from '../../../core/error.ts';
import { placeIn } from './place.ts';

/** What is wrong with a conversation is wrong with the input here. */
export function inOurWords(thrown: unknown): ServiceError {
  const error = ServiceError.from(thrown);
  if (error.param === undefined || placeIn(error.param) === error.param) return error;
  const { kind, message, param, retryAfterSeconds, allow, excess, cause } = error;
  return new ServiceError(kind, message, { param: placeIn(param), retryAfterSeconds, allow, excess, cause });
}
