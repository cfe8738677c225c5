import type { z } from 'zod';
import { ServiceError } from '../../core/error.ts';
import { SEARCH_ANSWER_BYTES_MAX } from '../../core/limits.ts';
import { readBody } from '../read-body.ts';
import type { WebAnswer, WebFetch } from '../web-fetch.ts';

export interface ServiceNeeds {
  /** As the log calls it. */
  readonly name: string;
  /** Where the service is, without its paths. */
  readonly url: string;
  /** May ask that origin and no other, and follows no redirect. */
  readonly fetch: WebFetch;
}

export interface ServiceWish {
  /** Behind the address of the service, such as `search`. */
  readonly path: string;
  readonly parameters?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON to post. */
  readonly body?: unknown;
  readonly accept: string;
  readonly signal: AbortSignal;
}

/**
 * What a search service answers, as text.
 *
 * @throws ServiceError `upstream-failed` for any status but 2xx, with when to come again where the service said so; what the
 * fetch throws. No message holds the address, the query or a key: it goes to the log.
 */
export async function askService({ url, fetch }: ServiceNeeds, wish: ServiceWish): Promise<string> {
  const { path, parameters = {}, headers = {}, body, accept, signal } = wish;
  const target = new URL(`${url.replace(/\/+$/, '')}/${path}`);
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, String(value));
  const answer = await fetch(target.href, {
    bytesMax: SEARCH_ANSWER_BYTES_MAX,
    accept,
    signal,
    headers,
    ...(body === undefined
      ? {}
      : { content: { type: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(body)) } }),
  });
  if (answer.status < 200 || answer.status > 299) {
    answer.body.destroy();
    throw refusal(answer);
  }
  return new TextDecoder().decode(await readBody(answer));
}

/** The same, parsed. @throws ServiceError `upstream-failed` also where it is no JSON, or JSON of another form. */
export async function askJson<Answer>(
  needs: ServiceNeeds,
  wish: ServiceWish,
  schema: z.ZodType<Answer>,
): Promise<Answer> {
  const text = await askService(needs, wish);
  const parsed = schema.safeParse(parseJson(text));
  // What it says instead may quote the query.
  if (!parsed.success) throw failed('answered in a form that is not known');
  return parsed.data;
}

export const failed = (what: string, retryAfterSeconds?: number): ServiceError =>
  new ServiceError('upstream-failed', `The search service ${what}.`, { retryAfterSeconds });

/** Ours, in s: how long a service rests that says it has too much to do, but not until when. */
const REST_SECONDS = 10;

function refusal(answer: WebAnswer): ServiceError {
  const { status } = answer;
  if (status === 401) return failed('does not accept our key, or wants one (status 401)');
  if (status === 403) return failed('refuses us (status 403): the key, or the form of answers that was asked for');
  if (status === 429) return failed('has had too many requests (status 429)', retryAfter(answer) ?? REST_SECONDS);
  if (status >= 300 && status <= 399) return failed(`redirects elsewhere (status ${status})`);
  return failed(`answered with status ${status}`, retryAfter(answer));
}

/** A number of seconds; the form with a date is as good as never sent by these services. */
function retryAfter(answer: WebAnswer): number | undefined {
  const text = answer.header('retry-after').trim();
  return /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
