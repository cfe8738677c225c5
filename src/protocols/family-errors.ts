import type { ErrorKind, ServiceError } from '../core/error.ts';

/** How one protocol family says that something went wrong. */
export interface FamilyErrors {
  /** The HTTP status of a kind, where nothing has been sent yet. */
  status(kind: ErrorKind): number;
  /** The JSON body, ready to be written. */
  errorBody(error: ServiceError, requestId: string): object;
}

/** A protocol's prescribed sentence first, then ours; never the same thing twice. */
export function withSentence(sentence: string | undefined, message: string): string {
  if (sentence === undefined || message.startsWith(sentence)) return message;
  return message === '' ? sentence : `${sentence} ${message}`;
}
