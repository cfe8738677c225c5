import type { z } from 'zod';
import { UPSTREAM_BODY_CHARS_MAX } from '../limits.ts';
import { parseCallBody } from './read-body-text.ts';
import type { UpstreamCallOptions, UpstreamClient } from './upstream-client.ts';
import { findUpstreamError } from './upstream-error-details.ts';
import { tryParseJson } from './try-parse-json.ts';
import { readErrorResponse } from './read-error-response.ts';

export interface JsonRequestOptions extends UpstreamCallOptions {
  /** Sent as JSON in a POST; without one the call is a GET. */
  readonly body?: object;
  /** Maximum length of the response body. Default: `UPSTREAM_BODY_CHARS_MAX`. */
  readonly charactersMax?: number;
}

/**
 * Sends a request and returns the JSON value of the response.
 *
 * @param path As for `ServerEndpoint.resolveUrl`.
 * @throws ServiceError for any status but 200, for an error inside a 200, and for a body that is too long or no JSON.
 */
export async function requestUpstreamJson(
  client: UpstreamClient,
  path: string,
  { body, charactersMax = UPSTREAM_BODY_CHARS_MAX, ...options }: JsonRequestOptions,
): Promise<unknown> {
  const { errors } = client;
  const call =
    body === undefined ? await client.get(path, options) : await client.post(path, JSON.stringify(body), options);
  if (call.response.statusCode !== 200) throw await readErrorResponse(call, errors);
  const parse = (text: string | undefined): unknown => {
    if (text === undefined) throw errors.createFailure(`sent more than ${charactersMax} characters`);
    const value = tryParseJson(text);
    if (value === undefined) throw errors.createFailure('answered 200 with a body that is not JSON');
    const error = findUpstreamError(value);
    if (error) throw errors.createFromStatus(error.status, error);
    return value;
  };
  return await parseCallBody(call, parse, charactersMax);
}

/** As `requestUpstreamJson`, but validates the value. */
export async function requestParsedJson<Schema extends z.ZodType>(
  client: UpstreamClient,
  path: string,
  { schema, ...options }: JsonRequestOptions & { readonly schema: Schema },
): Promise<z.output<Schema>> {
  const parsed = schema.safeParse(await requestUpstreamJson(client, path, options));
  if (!parsed.success) throw client.errors.createFailure(`answered ${path} in an unknown format`);
  return parsed.data;
}
