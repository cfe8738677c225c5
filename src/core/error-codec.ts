import { ERROR_KINDS, ServiceError, type ErrorDetails, type ErrorKind } from './error.ts';

/** A ServiceError as plain JSON, passed between Parley's processes. The cause crosses only as a text for the log. */
interface EncodedError extends Omit<ErrorDetails, 'cause'> {
  readonly kind: ErrorKind;
  readonly message: string;
  readonly cause?: string;
}

export const errorCodec = {
  encode(thrown: unknown): EncodedError {
    const { kind, message, param, retryAfterSeconds, allow, replacesPrescribedText, cause } = ServiceError.from(thrown);
    const reason = cause instanceof Error ? (cause.stack ?? cause.message) : JSON.stringify(cause);
    return {
      kind,
      message,
      param,
      retryAfterSeconds,
      allow,
      ...(replacesPrescribedText ? { replacesPrescribedText } : {}),
      ...(reason === undefined ? {} : { cause: reason }),
    };
  },
  decode(encoded: unknown): ServiceError {
    const { kind = 'internal', message = '', cause, ...details } = Object(encoded) as Partial<EncodedError>;
    const knownKind = ERROR_KINDS.includes(kind) ? kind : 'internal';
    return new ServiceError(knownKind, message, {
      ...details,
      ...(cause === undefined ? {} : { cause: new Error(cause) }),
    });
  },
};
