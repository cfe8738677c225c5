import type { z } from 'zod';
import type { ServiceError } from '../../core/error.ts';
import type { UpstreamErrorFactory } from './upstream-error-factory.ts';

// Errors of a server's stream. They quote no values, which may be text of the answer.

export const createNoJsonError = (errors: UpstreamErrorFactory): ServiceError =>
  errors.createFailure('sent an event that is not JSON');

/** Names the paths of the invalid fields. */
export function createEventFormatError(errors: UpstreamErrorFactory, { issues }: z.core.$ZodError): ServiceError {
  const paths = issues.map(({ path }) => path.join('.') || 'the top level').slice(0, 5);
  return errors.createFailure(`sent an event with an invalid format, at ${paths.join(', ')}`);
}

export const createFinishReasonError = (errors: UpstreamErrorFactory, reason: string): ServiceError =>
  errors.createFailure(`ended with the finish reason ${JSON.stringify(reason.slice(0, 40))}`);

export const createUnfinishedAnswerError = (errors: UpstreamErrorFactory): ServiceError =>
  errors.createFailure('ended its answer before it had a finish reason');
