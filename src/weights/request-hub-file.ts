import { ServiceError } from '../core/error.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { isPublicUrl } from '../lib/public-hosts.ts';
import { HUB_REDIRECTS_MAX } from './limits.ts';
import type { Fetch } from './pull-limits.ts';

/** A response that carries the bytes of a file, with the hub's facts about the file. */
export interface HubResponse {
  readonly response: Response;
  /** SHA-256 of the whole file as the hub states it. */
  readonly sha256?: string;
  /** Size of the whole file as the hub states it. */
  readonly sizeBytes?: number;
  /** ETag of the response that carries the bytes, for a later `If-Range`. Weak tags are left out. */
  readonly etag?: string;
}

export interface HubRequestOptions {
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
  /** Time that each host on the way has for its response headers. */
  readonly connectMs: number;
}

/**
 * Requests a file and follows redirects itself, because the hub states the file's size and hash on the redirect.
 * @throws ServiceError `upstream-failed` when a host cannot be reached or does not answer in time.
 */
export async function requestHubFile(
  url: string,
  headers: Readonly<Record<string, string>>,
  { fetch, signal, connectMs }: HubRequestOptions,
): Promise<HubResponse> {
  let currentUrl = new URL(url);
  let sha256: string | undefined;
  let sizeBytes: number | undefined;
  for (let hops = 0; hops <= HUB_REDIRECTS_MAX; hops++) {
    const response = await connect(currentUrl, headers, { fetch, signal, connectMs });
    if (currentUrl.origin === new URL(url).origin) {
      const size = Number(response.headers.get('x-linked-size') ?? Number.NaN);
      if (Number.isSafeInteger(size) && size > 0) sizeBytes = size;
      sha256 = parseSha256Tag(response.headers.get('x-linked-etag')) ?? sha256;
      // After a redirect, an ETag of 64 digits may be the storage's hash of something else; the hub's is the file's.
      if (response.ok) sha256 ??= parseSha256Tag(response.headers.get('etag'));
    }
    const redirectUrl = parseRedirect(response, currentUrl, new URL(url));
    if (!redirectUrl) {
      const etag = response.headers.get('etag');
      return {
        response,
        ...omitNullish({ sha256, sizeBytes, etag: etag?.startsWith('W/') ? undefined : etag || undefined }),
      };
    }
    await response.body?.cancel();
    currentUrl = redirectUrl;
  }
  throw new ServiceError('upstream-failed', `${url} redirects more than ${HUB_REDIRECTS_MAX} times.`);
}

/** Sends one request and waits for its response headers. `saveBody` watches the body. */
async function connect(
  url: URL,
  headers: Readonly<Record<string, string>>,
  { fetch, signal, connectMs }: HubRequestOptions,
): Promise<Response> {
  const tooSlow = new AbortController();
  const timer = setTimeout(() => tooSlow.abort(), connectMs);
  try {
    // Compression would change the meaning of ranges and lengths.
    return await fetch(url.href, {
      headers: { 'accept-encoding': 'identity', ...headers },
      redirect: 'manual',
      signal: AbortSignal.any([signal, tooSlow.signal]),
    });
  } catch (thrown) {
    signal.throwIfAborted();
    const why = tooSlow.signal.aborted ? `no answer within ${connectMs / 1000} s` : describeFetchError(thrown);
    throw new ServiceError('upstream-failed', `Cannot reach ${url.origin}: ${why}.`, { cause: thrown });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns the target of a redirect. A hub on the internet must not have files fetched from the operator's own network; one
 * in that network may redirect within it.
 */
function parseRedirect(response: Response, currentUrl: URL, hubUrl: URL): URL | undefined {
  const location = response.headers.get('location');
  if (location === null || response.status < 301 || response.status > 308 || response.status === 304) return undefined;
  const redirectUrl = URL.canParse(location, currentUrl.href) ? new URL(location, currentUrl) : undefined;
  const isAllowedProtocol =
    redirectUrl?.protocol === 'https:' || (redirectUrl?.protocol === 'http:' && currentUrl.protocol === 'http:');
  if (!redirectUrl || !isAllowedProtocol)
    throw new ServiceError(
      'upstream-failed',
      `${currentUrl.origin} redirects to an address that is not allowed: only HTTPS, or HTTP after HTTP, is followed.`,
    );
  if (isPublicUrl(redirectUrl) || !isPublicUrl(hubUrl)) return redirectUrl;
  throw new ServiceError(
    'upstream-failed',
    `${currentUrl.origin} redirects to ${redirectUrl.host}, which is not public: only a hub that is not public itself may do so.`,
  );
}

/** Parses an ETag that has the form of a SHA-256 hash. */
const parseSha256Tag = (tag: string | null): string | undefined => /^"?([0-9a-f]{64})"?$/.exec(tag ?? '')?.[1];

/** Returns the message of the error's cause, because `fetch` itself only says "fetch failed". */
export function describeFetchError(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { cause } = thrown;
  if (cause instanceof Error) return cause.message || ('code' in cause ? String(cause.code) : cause.name);
  return thrown.message;
}
