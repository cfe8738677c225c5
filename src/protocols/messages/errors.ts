import type { ErrorKind, ServiceError } from '../../core/error.ts';
import { INTERNAL_MESSAGE } from '../../core/error.ts';
import { withSentence } from '../family-errors.ts';

export interface MessagesError {
  readonly status: number;
  /** wire.md 0.3 and E3.4: what clients of this interface choose an exception by. */
  readonly type: string;
  readonly sentence?: string;
}

/** Statuses are those of the other families (decisions.md "Errors"); a model clients ask for in vain is a 404 here too. */
const MESSAGES_ERRORS: Record<ErrorKind, MessagesError> = {
  'invalid-request': { status: 400, type: 'invalid_request_error' },
  'context-exceeded': { status: 400, type: 'invalid_request_error', sentence: 'prompt is too long:' },
  unauthenticated: { status: 401, type: 'authentication_error', sentence: 'Invalid API key.' },
  forbidden: { status: 403, type: 'permission_error', sentence: 'Access denied.' },
  'workspace-denied': { status: 403, type: 'permission_error', sentence: 'Workspace access denied.' },
  'not-found': { status: 404, type: 'not_found_error' },
  'file-not-found': { status: 404, type: 'not_found_error' },
  'resource-not-found': { status: 400, type: 'invalid_request_error' },
  'model-not-found': { status: 404, type: 'not_found_error' },
  'model-not-supported': { status: 404, type: 'not_found_error' },
  'method-not-allowed': { status: 405, type: 'invalid_request_error' },
  conflict: { status: 409, type: 'invalid_request_error' },
  locked: { status: 409, type: 'invalid_request_error' },
  'too-large': { status: 413, type: 'request_too_large', sentence: 'Payload Too Large.' },
  'storage-quota': { status: 400, type: 'invalid_request_error' },
  'count-quota': { status: 400, type: 'invalid_request_error' },
  'token-quota': { status: 429, type: 'billing_error' },
  'rate-limited': { status: 429, type: 'rate_limit_error' },
  overloaded: { status: 503, type: 'overloaded_error' },
  unsupported: { status: 400, type: 'invalid_request_error' },
  timeout: { status: 500, type: 'timeout_error', sentence: 'Request timed out, please try again later.' },
  cancelled: { status: 400, type: 'invalid_request_error' },
  'upstream-failed': { status: 500, type: 'api_error', sentence: INTERNAL_MESSAGE },
  'engine-failed': { status: 500, type: 'api_error', sentence: INTERNAL_MESSAGE },
  internal: { status: 500, type: 'api_error', sentence: INTERNAL_MESSAGE },
};

export const status = (kind: ErrorKind): number => MESSAGES_ERRORS[kind].status;

export function errorBody(error: ServiceError, requestId: string): object {
  const { type } = MESSAGES_ERRORS[error.kind];
  return {
    type: 'error',
    error: { type, message: messageOf(error), ...(isThread(error) ? { details: NO_THREADS } : {}) },
    request_id: requestId,
  };
}

/** A coding agent reads the counts behind these words, and makes its conversation shorter by what is too much. */
function messageOf({ kind, message, excess }: ServiceError): string {
  const counts = excess && `prompt is too long: ${excess.tokens} tokens > ${excess.tokensMax} maximum.`;
  return withSentence(counts ?? MESSAGES_ERRORS[kind].sentence, message);
}

const isThread = ({ kind, param }: ServiceError): boolean => kind === 'unsupported' && param === 'thread';

/** The tool runners of the official clients ask for server-held turns first; told this, they send whole conversations. */
const NO_THREADS = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };
