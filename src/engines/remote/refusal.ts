import type { IncomingHttpHeaders } from 'node:http';
import type { ServiceError } from '../../core/error.ts';
import { UPSTREAM_BODY_CHARACTERS_MAX } from '../../core/limits.ts';
import { bodyText } from './body-text.ts';
import type { Call } from './connection.ts';
import { refusalWords } from './error-words.ts';
import type { ErrorWords } from './error-words.ts';
import type { Faults } from './faults.ts';

/** What our caller is told of an answer that is none: its status, its words, and when to try again. */
export async function refusalOf({ response, watch, why }: Call, faults: Faults): Promise<ServiceError> {
  try {
    const text = await bodyText(response, UPSTREAM_BODY_CHARACTERS_MAX);
    return faults.refused(response.statusCode, wordsIn(text), retryAfterIn(response.headers));
  } catch (thrown) {
    return why(thrown);
  } finally {
    watch.rest();
  }
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** In s, 0 for a time that is over; undefined where there is none. RFC 9110 10.2.3: a number of seconds, or a date. */
function retryAfterIn({ 'retry-after': told = '', date = '' }: IncomingHttpHeaders): number | undefined {
  const text = told.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text));
  const at = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  // By the server's own clock: ours may be another.
  const now = HTTP_DATE.test(date) ? Date.parse(date) : Date.now();
  return Math.max(0, Math.ceil((at - now) / 1_000));
}

/** Only JSON is passed on in a message: anything else is a page for people, or a proxy's. */
function wordsIn(text: string | undefined): ErrorWords {
  try {
    return refusalWords(JSON.parse(text ?? ''));
  } catch {
    return {};
  }
}
