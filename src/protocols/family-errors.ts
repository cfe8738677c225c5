import type { ErrorKind, ServiceError } from '../core/error.ts';

/** Encodes errors for one protocol family. */
export interface FamilyErrorEncoder {
  /** Returns the HTTP status of an error kind, for a response that has not started. */
  getStatus(kind: ErrorKind): number;
  /** Returns the JSON body of an error response. */
  encodeErrorBody(error: ServiceError, requestId: string): object;
}

/**
 * Puts the text that a protocol prescribes before Parley's message, unless the message starts with it or replaces it.
 */
export function prependPrescribedText(
  prescribed: string | undefined,
  { message, replacesPrescribedText }: Pick<ServiceError, 'message' | 'replacesPrescribedText'>,
): string {
  if (prescribed === undefined || replacesPrescribedText || message.startsWith(prescribed)) return message;
  return message === '' ? prescribed : `${prescribed} ${message}`;
}
