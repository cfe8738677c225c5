import { INTERNAL_MESSAGE, type ErrorKind, type ServiceError } from '../../core/error.ts';
import { prependPrescribedText } from '../family-errors.ts';

export interface MessagesError {
  readonly status: number;
  /** Determines the exception class in clients (docs/wire/anthropic-compatible.md#errors). */
  readonly type: string;
  readonly prescribedText?: string;
}

/** Statuses equal those of the other families (docs/wire/choices.md#errors); an unknown model is a 404 here too. */
const MESSAGES_ERRORS: Record<ErrorKind, MessagesError> = {
  'invalid-request': { status: 400, type: 'invalid_request_error' },
  'context-exceeded': { status: 400, type: 'invalid_request_error', prescribedText: 'prompt is too long:' },
  unauthenticated: { status: 401, type: 'authentication_error', prescribedText: 'Invalid API key.' },
  forbidden: { status: 403, type: 'permission_error', prescribedText: 'Access denied.' },
  'workspace-denied': { status: 403, type: 'permission_error', prescribedText: 'Workspace access denied.' },
  'not-found': { status: 404, type: 'not_found_error' },
  'file-not-found': { status: 404, type: 'not_found_error' },
  'resource-not-found': { status: 400, type: 'invalid_request_error' },
  'model-not-found': { status: 404, type: 'not_found_error' },
  'model-not-supported': { status: 404, type: 'not_found_error' },
  'method-not-allowed': { status: 405, type: 'invalid_request_error' },
  conflict: { status: 409, type: 'invalid_request_error' },
  locked: { status: 409, type: 'invalid_request_error' },
  'too-large': { status: 413, type: 'request_too_large', prescribedText: 'Payload Too Large.' },
  'storage-quota': { status: 400, type: 'invalid_request_error' },
  'count-quota': { status: 400, type: 'invalid_request_error' },
  'token-quota': { status: 429, type: 'billing_error' },
  'rate-limited': { status: 429, type: 'rate_limit_error' },
  overloaded: { status: 503, type: 'overloaded_error' },
  unsupported: { status: 400, type: 'invalid_request_error' },
  timeout: { status: 504, type: 'timeout_error', prescribedText: 'Request timed out, please try again later.' },
  cancelled: { status: 400, type: 'invalid_request_error' },
  'upstream-failed': { status: 502, type: 'api_error', prescribedText: INTERNAL_MESSAGE },
  'engine-failed': { status: 500, type: 'api_error', prescribedText: INTERNAL_MESSAGE },
  'file-damaged': { status: 500, type: 'api_error', prescribedText: INTERNAL_MESSAGE },
  internal: { status: 500, type: 'api_error', prescribedText: INTERNAL_MESSAGE },
};

export const getStatus = (kind: ErrorKind): number => MESSAGES_ERRORS[kind].status;

export function encodeErrorBody(error: ServiceError, requestId: string): object {
  const { type } = MESSAGES_ERRORS[error.kind];
  return {
    type: 'error',
    error: { type, message: formatMessage(error), ...(isThreadRequest(error) ? { details: THREADS_UNSUPPORTED } : {}) },
    request_id: requestId,
  };
}

/** Formats the message. Coding agents parse the two token counts and shorten their conversation by the difference. */
function formatMessage(error: ServiceError): string {
  const { kind, tokenOverflow } = error;
  const counts =
    tokenOverflow && `prompt is too long: ${tokenOverflow.tokens} tokens > ${tokenOverflow.tokensMax} maximum.`;
  return prependPrescribedText(counts ?? MESSAGES_ERRORS[kind].prescribedText, error);
}

const isThreadRequest = ({ kind, param }: ServiceError): boolean => kind === 'unsupported' && param === 'thread';

/** Official clients' tool runners try server-side threads first; after this error they send whole conversations. */
const THREADS_UNSUPPORTED = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };
