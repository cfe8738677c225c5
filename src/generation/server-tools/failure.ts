import { ServiceError } from '../../core/error.ts';
import type { ErrorKind } from '../../core/error.ts';
import type { ServerCallFailure } from '../../core/server-tools.ts';

/** What the caller is told of a tool that did not work. */
export function failureOf(thrown: unknown): ServerCallFailure {
  const { kind, message } = ServiceError.from(thrown);
  return { code: CODES[kind] ?? 'unavailable', message };
}

const CODES: Partial<Record<ErrorKind, ServerCallFailure['code']>> = {
  'invalid-request': 'invalid-input',
  forbidden: 'not-allowed',
  'not-found': 'not-found',
  'file-not-found': 'not-found',
  'resource-not-found': 'not-found',
  'too-large': 'too-long',
};
