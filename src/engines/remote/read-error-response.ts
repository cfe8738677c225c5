import type { IncomingHttpHeaders } from 'node:http';
import type { ServiceError } from '../../core/error.ts';
import { UPSTREAM_BODY_CHARS_MAX } from '../limits.ts';
import { readBodyText } from './read-body-text.ts';
import type { UpstreamCall } from './upstream-client.ts';
import { parseErrorBody, type UpstreamErrorDetails } from './upstream-error-details.ts';
import type { UpstreamErrorFactory } from './upstream-error-factory.ts';

/** Reads a response with an error status and creates its error: status, message, and when to retry. */
export async function readErrorResponse(
  { response, timer, mapError }: UpstreamCall,
  errors: UpstreamErrorFactory,
): Promise<ServiceError> {
  try {
    const text = await readBodyText(response, UPSTREAM_BODY_CHARS_MAX);
    return errors.createFromStatus(response.statusCode, parseErrorText(text), parseRetryAfter(response.headers));
  } catch (thrown) {
    return mapError(thrown);
  } finally {
    timer.stop();
  }
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Returns seconds; 0 for a time in the past, undefined without the header (RFC 9110 section 10.2.3). */
function parseRetryAfter({ 'retry-after': retryAfter = '', date = '' }: IncomingHttpHeaders): number | undefined {
  const text = retryAfter.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text));
  const retryAt = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(retryAt)) return undefined;
  // Relative to the server's Date header: the clocks may differ.
  const now = HTTP_DATE.test(date) ? Date.parse(date) : Date.now();
  return Math.max(0, Math.ceil((retryAt - now) / 1_000));
}

/** Returns the details only of a JSON body: anything else is an HTML page, perhaps of a proxy. */
function parseErrorText(text: string | undefined): UpstreamErrorDetails {
  try {
    return parseErrorBody(JSON.parse(text ?? ''));
  } catch {
    return {};
  }
}
