import { ServiceError } from '../../../core/error.ts';
import { toResponsesPath } from './responses-path.ts';

/** Maps the field path of a generation error to this interface: `messages` becomes `input`. */
export function mapErrorParam(thrown: unknown): ServiceError {
  const error = ServiceError.from(thrown);
  if (error.param === undefined || toResponsesPath(error.param) === error.param) return error;
  const { kind, message, param, retryAfterSeconds, allow, tokenOverflow, cause } = error;
  return new ServiceError(kind, message, {
    param: toResponsesPath(param),
    retryAfterSeconds,
    allow,
    tokenOverflow: tokenOverflow,
    cause,
  });
}
