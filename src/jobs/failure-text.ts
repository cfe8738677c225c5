import { JOB_ERROR_CHARS_MAX } from '../core/limits.ts';

/** For the operator alone: also what a caller is not told. */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return cut(String(error));
  const { message, cause } = error;
  const isNew = cause instanceof Error && !message.includes(cause.message);
  return cut(isNew ? `${message} (${cause.message})` : message);
}

const cut = (text: string): string =>
  text.length > JOB_ERROR_CHARS_MAX ? `${text.slice(0, JOB_ERROR_CHARS_MAX - 1)}…` : text;
