import { UPSTREAM_BODY_CHARACTERS_MAX } from '../../core/limits.ts';
import { bodyText } from './body-text.ts';
import type { CallOptions, Connection } from './connection.ts';
import { errorIn } from './error-words.ts';
import { jsonOf } from './json-of.ts';
import { refusalOf } from './refusal.ts';

export interface AskOptions extends CallOptions {
  /** Sent as JSON in a POST; without one the call is a GET. */
  readonly body?: object;
  /** Characters that the answer may have; UPSTREAM_BODY_CHARACTERS_MAX unless told. Beyond: it failed. */
  readonly charactersMax?: number;
}

/**
 * One question that is answered in one piece of JSON, whatever its form.
 *
 * @param path As for `Address.of`.
 * @throws ServiceError for any status but 200, for an error inside a 200, and for what is no JSON.
 */
export async function ask(
  connection: Connection,
  path: string,
  { body, charactersMax = UPSTREAM_BODY_CHARACTERS_MAX, ...options }: AskOptions,
): Promise<unknown> {
  const { faults } = connection;
  const call =
    body === undefined
      ? await connection.get(path, options)
      : await connection.post(path, JSON.stringify(body), options);
  if (call.response.statusCode !== 200) throw await refusalOf(call, faults);
  const { response, watch, why } = call;
  try {
    const text = await bodyText(response, charactersMax);
    if (text === undefined) throw faults.failed(`sent more than ${charactersMax} characters`);
    const value = jsonOf(text);
    if (value === undefined) throw faults.failed('answered 200 with something that is no JSON');
    const error = errorIn(value);
    if (error) throw faults.refused(error.status, error);
    return value;
  } catch (thrown) {
    throw why(thrown);
  } finally {
    watch.rest();
  }
}
