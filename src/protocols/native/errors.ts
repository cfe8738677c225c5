import type { ErrorKind, ServiceError } from '../../core/error.ts';
import { INTERNAL_MESSAGE } from '../../core/error.ts';
import { withSentence } from '../family-errors.ts';

export interface NativeError {
  readonly status: number;
  readonly code: string;
  /** wire.md 1.7: the text client log matchers know; it stands before our own words. */
  readonly sentence?: string;
}

/** decisions.md "Errors", wire.md 1.7. A file's own quota codes stand in the upload's answer, not here. */
const NATIVE_ERRORS: Record<ErrorKind, NativeError> = {
  'invalid-request': { status: 400, code: 'InvalidParameter' },
  'context-exceeded': { status: 400, code: 'InvalidParameter' },
  unauthenticated: { status: 401, code: 'InvalidApiKey', sentence: 'Invalid API-key provided.' },
  forbidden: { status: 403, code: 'AccessDenied', sentence: 'Access denied.' },
  'workspace-denied': { status: 403, code: 'Workspace.AccessDenied', sentence: 'Workspace access denied.' },
  'not-found': { status: 404, code: 'NotFound' },
  'file-not-found': { status: 400, code: 'InvalidParameter', sentence: 'File not found.' },
  'resource-not-found': {
    status: 400,
    code: 'BadRequest.ResourceNotExist',
    sentence: 'The Required resource not exist.',
  },
  'model-not-found': { status: 404, code: 'ModelNotFound', sentence: 'Model can not be found.' },
  'model-not-supported': { status: 404, code: 'ModelNotFound', sentence: 'Model can not be found.' },
  'method-not-allowed': { status: 405, code: 'InvalidParameter' },
  conflict: { status: 409, code: 'Conflict' },
  locked: { status: 409, code: 'Conflict' },
  'too-large': { status: 413, code: 'BadRequest.TooLarge', sentence: 'Payload Too Large.' },
  'storage-quota': { status: 400, code: 'BadRequest.TooLarge' },
  // The vocabulary that is one too many (wire.md E7.1); a file too many is told inside the 200.
  'count-quota': { status: 400, code: 'Throttling.AllocationQuota' },
  'token-quota': {
    status: 429,
    code: 'Throttling.AllocationQuota',
    sentence: 'Allocated quota exceeded, please increase your quota limit.',
  },
  'rate-limited': {
    status: 429,
    code: 'Throttling.RateQuota',
    sentence: 'Requests rate limit exceeded, please try again later.',
  },
  overloaded: { status: 503, code: 'ServiceUnavailable' },
  unsupported: { status: 400, code: 'UnsupportedOperation' },
  timeout: { status: 500, code: 'RequestTimeOut', sentence: 'Request timed out, please try again later.' },
  cancelled: { status: 400, code: 'ClientDisconnect' },
  'upstream-failed': { status: 500, code: 'InternalError', sentence: INTERNAL_MESSAGE },
  'engine-failed': { status: 500, code: 'InternalError', sentence: INTERNAL_MESSAGE },
  internal: { status: 500, code: 'InternalError', sentence: INTERNAL_MESSAGE },
};

export const status = (kind: ErrorKind): number => NATIVE_ERRORS[kind].status;

/** The flat shape, strings only: null in one of them breaks the Java client (wire.md section 11, 4). */
export function errorBody(error: ServiceError, requestId: string): object {
  return { ...codeAndMessage(error), request_id: requestId };
}

export function codeAndMessage(error: ServiceError): { readonly code: string; readonly message: string } {
  const { code, sentence } = NATIVE_ERRORS[error.kind];
  return { code, message: withSentence(sentence, error.message) };
}
