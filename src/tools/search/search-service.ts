import type { z } from 'zod';
import { ServiceError } from '../../core/error.ts';
import { SEARCH_ANSWER_BYTES_MAX } from '../limits.ts';
import { readBody } from '../read-body.ts';
import type { WebResponse, WebFetch } from '../web-fetch.ts';

export interface SearchServiceOptions {
  /** Name of the provider in the log. */
  readonly name: string;
  /** Base URL of the service. */
  readonly url: string;
  /** A fetch that is limited to the origin of the service and follows no redirect. */
  readonly fetch: WebFetch;
}

export interface SearchServiceRequest {
  /** Path relative to the base URL, such as `search`. */
  readonly path: string;
  readonly parameters?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Posted as JSON. */
  readonly body?: unknown;
  readonly accept: string;
  readonly signal: AbortSignal;
}

/**
 * Sends a request to a search service and returns the response body as text.
 *
 * @throws ServiceError `upstream-failed` for any status but 2xx, with the service's Retry-After; any error of the
 * fetch. No message contains the URL, the query or a key, because messages are logged.
 */
export async function requestText(
  { url, fetch }: SearchServiceOptions,
  request: SearchServiceRequest,
): Promise<string> {
  const { path, parameters = {}, headers = {}, body, accept, signal } = request;
  const target = new URL(`${url.replace(/\/+$/, '')}/${path}`);
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, String(value));
  const response = await fetch(target.href, {
    bytesMax: SEARCH_ANSWER_BYTES_MAX,
    accept,
    signal,
    headers,
    ...(body === undefined
      ? {}
      : { content: { type: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(body)) } }),
  });
  if (response.status < 200 || response.status > 299) {
    response.body.destroy();
    throw statusToError(response);
  }
  return new TextDecoder().decode(await readBody(response));
}

/** Requests JSON. @throws ServiceError `upstream-failed` also for a body that does not match the schema. */
export async function requestSearchJson<Answer>(
  options: SearchServiceOptions,
  request: SearchServiceRequest,
  schema: z.ZodType<Answer>,
): Promise<Answer> {
  const text = await requestText(options, request);
  const parsed = schema.safeParse(parseJson(text));
  // The validation message is left out: it may quote the query.
  if (!parsed.success) throw createFormatError();
  return parsed.data;
}

export const createFormatError = (): ServiceError => createServiceError('sent a response in an unknown format');

export const createServiceError = (problem: string, retryAfterSeconds?: number): ServiceError =>
  new ServiceError('upstream-failed', `The search service ${problem}.`, { retryAfterSeconds });

/** Chosen: seconds that a provider is paused after a 429 response without Retry-After. */
const BUSY_RETRY_SECONDS = 10;

function statusToError(response: WebResponse): ServiceError {
  const { status } = response;
  if (status === 401) return createServiceError('rejects the API key or requires one (status 401)');
  if (status === 403)
    return createServiceError(
      'denies access (status 403): check the API key, and whether the service allows JSON responses',
    );
  if (status === 429)
    return createServiceError(
      'has received too many requests (status 429)',
      parseRetryAfter(response) ?? BUSY_RETRY_SECONDS,
    );
  if (status >= 300 && status <= 399) return createServiceError(`redirects to another URL (status ${status})`);
  return createServiceError(`answered with status ${status}`, parseRetryAfter(response));
}

/** Parses a number of seconds. These services practically never send the form with a date. */
function parseRetryAfter(response: WebResponse): number | undefined {
  const text = response.getHeader('retry-after').trim();
  return /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
