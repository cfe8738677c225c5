import { ServiceError, type ErrorKind } from '../../core/error.ts';
import type { ServerCallFailure } from '../../core/server-tools.ts';

/** Converts an error of a server tool to the failure that the caller receives. */
export function errorToFailure(thrown: unknown): ServerCallFailure {
  const { kind, message } = ServiceError.from(thrown);
  return { code: CODES_BY_KIND[kind] ?? 'unavailable', message };
}

const CODES_BY_KIND: Partial<Record<ErrorKind, ServerCallFailure['code']>> = {
  'invalid-request': 'invalid-input',
  forbidden: 'not-allowed',
  'not-found': 'not-found',
  'file-not-found': 'not-found',
  'resource-not-found': 'not-found',
  'too-large': 'too-long',
};
