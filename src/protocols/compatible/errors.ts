import { INTERNAL_MESSAGE, type ErrorKind, type ServiceError } from '../../core/error.ts';
import { prependPrescribedText } from '../family-errors.ts';

export interface CompatibleError {
  readonly status: number;
  readonly code: string;
  readonly type: string;
  /**
   * Text that log matchers of clients look for; it precedes Parley's message (docs/wire/openai-compatible.md#errors).
   */
  readonly prescribedText?: string;
}

const INVALID = 'invalid_request_error';

/** Errors by kind (docs/wire/choices.md#errors). An error whose documented type is unknown uses its code as type. */
const COMPATIBLE_ERRORS: Record<ErrorKind, CompatibleError> = {
  'invalid-request': { status: 400, code: 'invalid_parameter_error', type: INVALID },
  'context-exceeded': { status: 400, code: 'invalid_parameter_error', type: INVALID },
  unauthenticated: {
    status: 401,
    code: 'invalid_api_key',
    type: INVALID,
    prescribedText: 'Incorrect API key provided.',
  },
  forbidden: { status: 403, code: 'access_denied', type: 'access_denied', prescribedText: 'Access denied.' },
  'workspace-denied': {
    status: 403,
    code: 'Workspace.AccessDenied',
    type: 'Workspace.AccessDenied',
    prescribedText: 'Workspace access denied.',
  },
  'not-found': { status: 404, code: 'not_found', type: INVALID },
  'file-not-found': { status: 404, code: 'not_found', type: INVALID },
  'resource-not-found': { status: 400, code: 'invalid_parameter_error', type: INVALID },
  'model-not-found': { status: 404, code: 'model_not_found', type: INVALID },
  'model-not-supported': { status: 404, code: 'model_not_supported', type: INVALID },
  'method-not-allowed': { status: 405, code: 'invalid_parameter_error', type: INVALID },
  conflict: { status: 409, code: 'conflict', type: INVALID },
  locked: { status: 409, code: 'conversation_locked', type: INVALID },
  'too-large': { status: 413, code: 'request_too_large', type: INVALID, prescribedText: 'Payload Too Large.' },
  'storage-quota': { status: 400, code: 'insufficient_quota', type: 'insufficient_quota' },
  'count-quota': { status: 400, code: 'insufficient_quota', type: 'insufficient_quota' },
  'token-quota': {
    status: 429,
    code: 'insufficient_quota',
    type: 'insufficient_quota',
    prescribedText: 'Allocated quota exceeded, please increase your quota limit.',
  },
  'rate-limited': {
    status: 429,
    code: 'limit_requests',
    type: 'limit_requests',
    prescribedText: 'Requests rate limit exceeded, please try again later.',
  },
  overloaded: { status: 503, code: 'ServiceUnavailable', type: 'ServiceUnavailable' },
  unsupported: { status: 400, code: 'unsupported_operation', type: INVALID },
  timeout: {
    status: 504,
    code: 'request_timeout',
    type: 'request_timeout',
    prescribedText: 'Request timed out, please try again later.',
  },
  cancelled: { status: 400, code: 'client_disconnect', type: INVALID },
  'upstream-failed': { status: 502, code: 'internal_error', type: 'internal_error', prescribedText: INTERNAL_MESSAGE },
  'engine-failed': { status: 500, code: 'internal_error', type: 'internal_error', prescribedText: INTERNAL_MESSAGE },
  'file-damaged': { status: 500, code: 'internal_error', type: 'internal_error', prescribedText: INTERNAL_MESSAGE },
  internal: { status: 500, code: 'internal_error', type: 'internal_error', prescribedText: INTERNAL_MESSAGE },
};

export const getStatus = (kind: ErrorKind): number => COMPATIBLE_ERRORS[kind].status;

/**
 * Encodes the body of an error response, also used for the error event of a stream. `error` is nested because the Node
 * client reads nothing else (docs/wire/clients.md#openai-sdks).
 */
export function encodeErrorBody(error: ServiceError, requestId: string): object {
  const { type } = COMPATIBLE_ERRORS[error.kind];
  const { code, message } = encodeCodeAndMessage(error);
  return { error: { message, type, param: error.param ?? null, code }, request_id: requestId };
}

/** Returns code and message of an error, as a failed response object contains them. */
export function encodeCodeAndMessage(error: ServiceError): { readonly code: string; readonly message: string } {
  const { code, prescribedText } = COMPATIBLE_ERRORS[error.kind];
  return { code, message: prependPrescribedText(prescribedText, error) };
}
