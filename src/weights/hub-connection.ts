import { ServiceError } from '../core/error.ts';
import { HUB_REDIRECTS_MAX } from '../core/limits.ts';
import type { Fetch } from './pull-options.ts';

/** What a hub says of a file, and the response that carries its bytes. */
export interface HubAnswer {
  readonly response: Response;
  /** The hash of the whole file, as the hub names it; undefined where it names none. */
  readonly sha256?: string;
  /** Size of the whole file, as the hub names it. */
  readonly sizeBytes?: number;
  /** Of the response that carries the bytes: for a later `If-Range`. Weak tags are left out. */
  readonly etag?: string;
}

export interface ConnectNeeds {
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
  /** Each address on the way has this long, in ms, to send its head. */
  readonly connectMs: number;
}

/**
 * Asks for a file and follows redirects by hand, because the hub's own facts stand on the redirect.
 * @throws ServiceError `upstream-failed` when an address cannot be reached or does not answer in time.
 */
export async function askHub(
  url: string,
  headers: Readonly<Record<string, string>>,
  { fetch, signal, connectMs }: ConnectNeeds,
): Promise<HubAnswer> {
  let at = new URL(url);
  let sha256: string | undefined;
  let sizeBytes: number | undefined;
  for (let hops = 0; hops <= HUB_REDIRECTS_MAX; hops++) {
    const response = await connect(at, headers, { fetch, signal, connectMs });
    if (at.origin === new URL(url).origin) {
      const size = Number(response.headers.get('x-linked-size') ?? Number.NaN);
      if (Number.isSafeInteger(size) && size > 0) sizeBytes = size;
      sha256 = sha256Tag(response.headers.get('x-linked-etag')) ?? sha256;
      // Behind a redirect a tag of 64 digits may be the storage's own hash of something else; the hub's is the file's.
      if (response.ok) sha256 ??= sha256Tag(response.headers.get('etag'));
    }
    const next = redirectOf(response, at);
    if (!next) {
      const etag = response.headers.get('etag');
      return {
        response,
        ...(sha256 ? { sha256 } : {}),
        ...(sizeBytes ? { sizeBytes } : {}),
        ...(etag && !etag.startsWith('W/') ? { etag } : {}),
      };
    }
    await response.body?.cancel();
    at = next;
  }
  throw new ServiceError('upstream-failed', `${url} redirects more than ${HUB_REDIRECTS_MAX} times.`);
}

/** Until the head has come; the body has its own watch. */
async function connect(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { fetch, signal, connectMs }: ConnectNeeds,
): Promise<Response> {
  const tooSlow = new AbortController();
  const timer = setTimeout(() => tooSlow.abort(), connectMs);
  try {
    // Compression would make ranges and lengths those of other bytes.
    return await fetch(url.href, {
      headers: { 'accept-encoding': 'identity', ...headers },
      redirect: 'manual',
      signal: AbortSignal.any([signal, tooSlow.signal]),
    });
  } catch (thrown) {
    signal.throwIfAborted();
    const why = tooSlow.signal.aborted ? `no answer within ${connectMs / 1000} s` : reasonOf(thrown);
    throw new ServiceError('upstream-failed', `${url.origin} cannot be reached: ${why}.`, { cause: thrown });
  } finally {
    clearTimeout(timer);
  }
}

function redirectOf(response: Response, at: URL): URL | undefined {
  const location = response.headers.get('location');
  if (location === null || response.status < 301 || response.status > 308 || response.status === 304) return undefined;
  const next = URL.canParse(location, at.href) ? new URL(location, at) : undefined;
  const isAllowed = next?.protocol === 'https:' || (next?.protocol === 'http:' && at.protocol === 'http:');
  if (next && isAllowed) return next;
  throw new ServiceError('upstream-failed', `${at.origin} redirects to an address that is not followed.`);
}

/** A tag counts as the file's hash only where it has the form of one. */
const sha256Tag = (tag: string | null): string | undefined => /^"?([0-9a-f]{64})"?$/.exec(tag ?? '')?.[1];

/** `fetch` says only "fetch failed"; what is behind it is the news. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { cause } = thrown;
  if (cause instanceof Error) return cause.message || ('code' in cause ? String(cause.code) : cause.name);
  return thrown.message;
}
