import type { ErrorKind, ServiceError } from '../../core/error.ts';
import { INTERNAL_MESSAGE } from '../../core/error.ts';
import { withSentence } from '../family-errors.ts';

export interface CompatibleError {
  readonly status: number;
  readonly code: string;
  readonly type: string;
  /** wire.md 1.7: the text client log matchers know; it stands before our own words. */
  readonly sentence?: string;
}

const INVALID = 'invalid_request_error';

/** wire.md 1.7 and decisions.md "Errors". Where the type is not recorded, it repeats the code. */
const COMPATIBLE_ERRORS: Record<ErrorKind, CompatibleError> = {
  'invalid-request': { status: 400, code: 'invalid_parameter_error', type: INVALID },
  'context-exceeded': { status: 400, code: 'invalid_parameter_error', type: INVALID },
  unauthenticated: {
    status: 401,
    code: 'invalid_api_key',
    type: INVALID,
    sentence: 'Incorrect API key provided.',
  },
  forbidden: { status: 403, code: 'access_denied', type: 'access_denied', sentence: 'Access denied.' },
  'workspace-denied': {
    status: 403,
    code: 'Workspace.AccessDenied',
    type: 'Workspace.AccessDenied',
    sentence: 'Workspace access denied.',
  },
  'not-found': { status: 404, code: 'not_found', type: INVALID },
  'file-not-found': { status: 404, code: 'not_found', type: INVALID },
  'resource-not-found': { status: 400, code: 'invalid_parameter_error', type: INVALID },
  'model-not-found': { status: 404, code: 'model_not_found', type: INVALID },
  'model-not-supported': { status: 404, code: 'model_not_supported', type: INVALID },
  'method-not-allowed': { status: 405, code: 'invalid_parameter_error', type: INVALID },
  conflict: { status: 409, code: 'conflict', type: INVALID },
  locked: { status: 409, code: 'conversation_locked', type: INVALID },
  'too-large': { status: 413, code: 'request_too_large', type: INVALID, sentence: 'Payload Too Large.' },
  'storage-quota': { status: 400, code: 'insufficient_quota', type: 'insufficient_quota' },
  'count-quota': { status: 400, code: 'insufficient_quota', type: 'insufficient_quota' },
  'token-quota': {
    status: 429,
    code: 'insufficient_quota',
    type: 'insufficient_quota',
    sentence: 'Allocated quota exceeded, please increase your quota limit.',
  },
  'rate-limited': {
    status: 429,
    code: 'limit_requests',
    type: 'limit_requests',
    sentence: 'Requests rate limit exceeded, please try again later.',
  },
  overloaded: { status: 503, code: 'ServiceUnavailable', type: 'ServiceUnavailable' },
  unsupported: { status: 400, code: 'unsupported_operation', type: INVALID },
  timeout: {
    status: 500,
    code: 'request_timeout',
    type: 'request_timeout',
    sentence: 'Request timed out, please try again later.',
  },
  cancelled: { status: 400, code: 'client_disconnect', type: INVALID },
  'upstream-failed': { status: 500, code: 'internal_error', type: 'internal_error', sentence: INTERNAL_MESSAGE },
  'engine-failed': { status: 500, code: 'internal_error', type: 'internal_error', sentence: INTERNAL_MESSAGE },
  internal: { status: 500, code: 'internal_error', type: 'internal_error', sentence: INTERNAL_MESSAGE },
};

export const status = (kind: ErrorKind): number => COMPATIBLE_ERRORS[kind].status;

/** The nested shape: the Node client reads `error` only (wire.md 0.5). Also what a broken stream says. */
export function errorBody(error: ServiceError, requestId: string): object {
  const { type } = COMPATIBLE_ERRORS[error.kind];
  const { code, message } = codeAndMessage(error);
  return { error: { message, type, param: error.param ?? null, code }, request_id: requestId };
}

/** What an answer that failed says of it. */
export function codeAndMessage(error: ServiceError): { readonly code: string; readonly message: string } {
  const { code, sentence } = COMPATIBLE_ERRORS[error.kind];
  return { code, message: withSentence(sentence, error.message) };
}
