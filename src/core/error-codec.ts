import { ERROR_KINDS, ServiceError } from './error.ts';
import type { ErrorFacts, ErrorKind } from './error.ts';

/** A ServiceError as plain JSON, between processes of ours. Of its cause only a text crosses, for the log there. */
interface EncodedError extends Omit<ErrorFacts, 'cause'> {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly cause?: string;
}

export const errorCodec = {
  encode(thrown: unknown): EncodedError {
    const { kind, message, param, retryAfterSeconds, allow, cause } = ServiceError.from(thrown);
    const reason = cause instanceof Error ? (cause.stack ?? cause.message) : JSON.stringify(cause);
    return {
      kind,
      message,
      param,
      retryAfterSeconds,
      allow,
      ...(reason === undefined ? {} : { cause: reason }),
    };
  },
  decode(encoded: unknown): ServiceError {
    const { kind = 'internal', message = '', cause, ...facts } = Object(encoded) as Partial<EncodedError>;
    const known = ERROR_KINDS.includes(kind) ? kind : 'internal';
    return new ServiceError(known, message, { ...facts, ...(cause === undefined ? {} : { cause: new Error(cause) }) });
  },
};
