import { INTERNAL_MESSAGE, type ErrorKind, type ServiceError } from '../../core/error.ts';
import { prependPrescribedText } from '../family-errors.ts';

export interface NativeError {
  readonly status: number;
  readonly code: string;
  /** Vendor text that client log matchers know; precedes Parley's message (docs/wire/dashscope-native.md#errors). */
  readonly prescribedText?: string;
}

/** Status and code per error kind (docs/wire/choices.md#errors). Upload failures of single files have other codes. */
const NATIVE_ERRORS: Record<ErrorKind, NativeError> = {
  'invalid-request': { status: 400, code: 'InvalidParameter' },
  'context-exceeded': { status: 400, code: 'InvalidParameter' },
  unauthenticated: { status: 401, code: 'InvalidApiKey', prescribedText: 'Invalid API-key provided.' },
  forbidden: { status: 403, code: 'AccessDenied', prescribedText: 'Access denied.' },
  'workspace-denied': { status: 403, code: 'Workspace.AccessDenied', prescribedText: 'Workspace access denied.' },
  'not-found': { status: 404, code: 'NotFound' },
  'file-not-found': { status: 400, code: 'InvalidParameter', prescribedText: 'File not found.' },
  'resource-not-found': {
    status: 400,
    code: 'BadRequest.ResourceNotExist',
    prescribedText: 'The Required resource not exist.',
  },
  'model-not-found': { status: 404, code: 'ModelNotFound', prescribedText: 'Model can not be found.' },
  'model-not-supported': { status: 404, code: 'ModelNotFound', prescribedText: 'Model can not be found.' },
  'method-not-allowed': { status: 405, code: 'InvalidParameter' },
  conflict: { status: 409, code: 'Conflict' },
  locked: { status: 409, code: 'Conflict' },
  'too-large': { status: 413, code: 'BadRequest.TooLarge', prescribedText: 'Payload Too Large.' },
  'storage-quota': { status: 400, code: 'BadRequest.TooLarge' },
  // A vocabulary above the limit. A file above the limit is reported inside the 200 of the upload instead.
  'count-quota': { status: 400, code: 'Throttling.AllocationQuota' },
  'token-quota': {
    status: 429,
    code: 'Throttling.AllocationQuota',
    prescribedText: 'Allocated quota exceeded, please increase your quota limit.',
  },
  'rate-limited': {
    status: 429,
    code: 'Throttling.RateQuota',
    prescribedText: 'Requests rate limit exceeded, please try again later.',
  },
  overloaded: { status: 503, code: 'ServiceUnavailable' },
  unsupported: { status: 400, code: 'UnsupportedOperation' },
  timeout: { status: 504, code: 'RequestTimeOut', prescribedText: 'Request timed out, please try again later.' },
  cancelled: { status: 400, code: 'ClientDisconnect' },
  'upstream-failed': { status: 502, code: 'InternalError', prescribedText: INTERNAL_MESSAGE },
  'engine-failed': { status: 500, code: 'InternalError', prescribedText: INTERNAL_MESSAGE },
  'file-damaged': { status: 500, code: 'InternalError', prescribedText: INTERNAL_MESSAGE },
  internal: { status: 500, code: 'InternalError', prescribedText: INTERNAL_MESSAGE },
};

export const getStatus = (kind: ErrorKind): number => NATIVE_ERRORS[kind].status;

/** Encodes a flat error of strings. A null in a field breaks the Java client (docs/wire/clients.md#client-pitfalls). */
export function encodeErrorBody(error: ServiceError, requestId: string): object {
  return { ...encodeCodeAndMessage(error), request_id: requestId };
}

export function encodeCodeAndMessage(error: ServiceError): { readonly code: string; readonly message: string } {
  const { code, prescribedText } = NATIVE_ERRORS[error.kind];
  return { code, message: prependPrescribedText(prescribedText, error) };
}
