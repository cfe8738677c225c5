/**
 * Why a call was refused or failed, in words of the domain. Each protocol family has a table from kind to status and
 * code; a new kind is needed only where a protocol gives it another code, or a caller would act on it differently.
 */
export const ERROR_KINDS = [
  'invalid-request',
  'context-exceeded',
  'unauthenticated',
  'forbidden',
  'workspace-denied',
  'not-found',
  'file-not-found',
  'resource-not-found',
  'model-not-found',
  'model-not-supported',
  'method-not-allowed',
  'conflict',
  'locked',
  'too-large',
  'storage-quota',
  'count-quota',
  'token-quota',
  'rate-limited',
  'overloaded',
  'unsupported',
  'timeout',
  'cancelled',
  'upstream-failed',
  'engine-failed',
  'internal',
] as const;

export type ErrorKind = (typeof ERROR_KINDS)[number];

/** Tokens that were sent (or more: counting may stop early), and how many there may be at most. */
export interface Excess {
  readonly tokens: number;
  readonly tokensMax: number;
}

export interface ErrorFacts {
  /** The request field at fault, as the caller wrote it, e.g. `messages[2].content`. */
  param?: string | undefined;
  /** When it makes sense to try again; becomes Retry-After. */
  retryAfterSeconds?: number | undefined;
  /** Methods a path does serve; becomes Allow. */
  allow?: readonly string[] | undefined;
  /** Of `context-exceeded`, where somebody counted. */
  excess?: Excess | undefined;
  /** For our log only; never leaves the house. */
  cause?: unknown;
}

/** The one error that crosses a module border. `message` is for the caller; `cause` is for our log. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly kind: ErrorKind;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly allow: readonly string[] | undefined;
  readonly excess: Excess | undefined;

  constructor(kind: ErrorKind, message: string, { param, retryAfterSeconds, allow, excess, cause }: ErrorFacts = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.param = param;
    this.retryAfterSeconds = retryAfterSeconds;
    this.allow = allow;
    this.excess = excess;
  }

  /** The one funnel: whatever is not ours becomes `internal` with a fixed text, and keeps its cause for the log. */
  static from(thrown: unknown): ServiceError {
    if (thrown instanceof ServiceError) return thrown;
    return new ServiceError('internal', INTERNAL_MESSAGE, { cause: thrown });
  }
}

/** wire.md 1.7, with the spelling that client log matchers know. */
export const INTERNAL_MESSAGE = 'An internal error has occured, please try again later or contact service support.';
