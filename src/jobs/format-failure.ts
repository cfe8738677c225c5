import { JOB_ERROR_CHARS_MAX } from './limits.ts';

/** Formats an error for the operator, including its cause, which callers do not see. */
export function formatFailure(error: unknown): string {
  if (!(error instanceof Error)) return truncate(String(error));
  const { message, cause } = error;
  const isNew = cause instanceof Error && !message.includes(cause.message);
  return truncate(isNew ? `${message} (${cause.message})` : message);
}

const truncate = (text: string): string =>
  text.length > JOB_ERROR_CHARS_MAX ? `${text.slice(0, JOB_ERROR_CHARS_MAX - 1)}…` : text;
