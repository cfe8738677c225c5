import { inspect } from 'node:util';
import { RETRY_AFTER_SECONDS } from './limits.ts';

/**
 * Why a call was rejected or failed, independent of any protocol. Each protocol family maps a kind to a status and a
 * code. Add a kind only where a protocol has another code for it, or where a caller would react differently.
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
  'file-damaged',
  'internal',
] as const;

export type ErrorKind = (typeof ERROR_KINDS)[number];

/** Number of tokens sent (a lower bound: counting may stop early) and the allowed maximum. */
export interface TokenOverflow {
  readonly tokens: number;
  readonly tokensMax: number;
}

export interface ErrorDetails {
  /** Path of the invalid request field, as the caller wrote it, e.g. `messages[2].content`. */
  param?: string | undefined;
  /** When a retry makes sense. Sent as the Retry-After header. */
  retryAfterSeconds?: number | undefined;
  /** HTTP methods that the path supports. Sent as the Allow header. */
  allow?: readonly string[] | undefined;
  /** Only for `context-exceeded`, when the tokens were counted. */
  tokenOverflow?: TokenOverflow | undefined;
  /**
   * The message is sent without the text that a protocol prescribes for the kind, because the text would contradict it.
   */
  replacesPrescribedText?: boolean | undefined;
  /** For Parley's log only; never sent to a client. */
  cause?: unknown;
}

/** The only error type that crosses module borders. `message` is for the caller, `cause` for Parley's log. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly kind: ErrorKind;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly allow: readonly string[] | undefined;
  readonly tokenOverflow: TokenOverflow | undefined;
  readonly replacesPrescribedText: boolean;

  constructor(
    kind: ErrorKind,
    message: string,
    { param, retryAfterSeconds, allow, tokenOverflow, replacesPrescribedText = false, cause }: ErrorDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.param = param;
    this.retryAfterSeconds = retryAfterSeconds;
    this.allow = allow;
    this.tokenOverflow = tokenOverflow;
    this.replacesPrescribedText = replacesPrescribedText;
  }

  /**
   * Converts any thrown value: what is not a ServiceError becomes its cause. A lack of file descriptors becomes
   * `overloaded`, because it passes; anything else `internal` with a fixed message.
   */
  static from(thrown: unknown): ServiceError {
    if (thrown instanceof ServiceError) return thrown;
    if (isDescriptorShortage(thrown))
      return new ServiceError(
        'overloaded',
        'The service has too many open connections and files. Please try again later.',
        {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
          cause: thrown,
        },
      );
    return new ServiceError('internal', INTERNAL_MESSAGE, { cause: thrown });
  }
}

/** Returns the text for the operator: the cause of an error whose own text says nothing to him. */
export function describeCause(thrown: unknown): string {
  const error = ServiceError.from(thrown);
  if (error.message !== INTERNAL_MESSAGE || error.cause === undefined) return error.message;
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : inspect(error.cause);
}

/** Returns whether stored bytes of a file are damaged or lost, so that another attempt would fail again. */
export const isFileDamaged = (thrown: unknown): thrown is ServiceError =>
  thrown instanceof ServiceError && thrown.kind === 'file-damaged';

/** Codes of the system for a process, or a machine, that has no free file descriptor. */
const DESCRIPTOR_SHORTAGE_CODES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE']);

/** Tells whether an error, or an error that caused it, is a lack of file descriptors. */
export function isDescriptorShortage(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if ('code' in error && DESCRIPTOR_SHORTAGE_CODES.has(error.code)) return true;
  return false;
}

/**
 * Prescribed text, misspelling included, because log filters of clients match it
 * (docs/wire/dashscope-native.md#errors).
 */
export const INTERNAL_MESSAGE = 'An internal error has occured, please try again later or contact service support.';

/** Creates the error of a request that ran longer than the service allows. */
export const createDeadlineError = (ms: number): ServiceError =>
  new ServiceError(
    'timeout',
    `The request ran longer than ${ms / 1000} s. Stream the answer, which may take longer, or send a shorter prompt or a lower max_tokens.`,
  );

/** Message to requests that the end of the service interrupts. */
export const SHUTTING_DOWN_MESSAGE = 'The service is shutting down.';
