import type { IncomingMessage } from 'node:http';
import { FETCH_CONNECT_MS, FETCH_HEAD_MS, FETCH_TOTAL_MS } from './limits.ts';
import { createFetchDeadlines } from './fetch-deadlines.ts';
import type { GuardedFetchOptions } from './guarded-fetch.ts';
import { type RequestContent, sendRequest } from './send-request.ts';
import { resolveWithSystem } from './resolve-host.ts';
import { createUrlRules } from './url-rules.ts';

export interface PostOptions extends RequestContent {
  /** Limit of the response body, which is discarded. Beyond: the connection is closed, and the status still counts. */
  readonly responseBytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends bytes to a URL that does not come from the configuration, under the rules of `GuardedFetch`. Redirects are not
 * followed, but returned: only the named server receives the bytes.
 *
 * @returns the status, also of an error response.
 * @throws ServiceError `invalid-request` for a URL that is not allowed or a host without a public address;
 * `upstream-failed` if the server does not respond correctly; `timeout`; or the signal's reason.
 */
export type GuardedPost = (url: string, options: PostOptions) => Promise<{ readonly status: number }>;

/** @throws ServiceError `invalid-request` if an entry of `allow` is invalid. */
export function createGuardedPost(
  options: Omit<GuardedFetchOptions, 'redirectsMax' | 'allowsDowngrade'> = {},
): GuardedPost {
  const { timeouts, certificates } = options;
  const { connectMs = FETCH_CONNECT_MS, headMs = FETCH_HEAD_MS, totalMs = FETCH_TOTAL_MS } = timeouts ?? {};
  const rules = createUrlRules({ allow: options.allow ?? [], ports: options.ports });
  const resolve = options.resolve ?? resolveWithSystem;

  return async (text, { responseBytesMax, signal, ...content }) => {
    const deadlines = createFetchDeadlines(signal, totalMs);
    try {
      const sendOptions = { rules, resolve, deadlines, connectMs, headMs, accept: '*/*', certificates, content };
      const response = await sendRequest(rules.parse(text), sendOptions);
      await discardResponse(response, { responseBytesMax, signal: deadlines.signal });
      return { status: response.statusCode ?? 0 };
    } finally {
      deadlines.close();
    }
  };
}

/** Reads a short response to its end: a server may take an early close for a failure. */
async function discardResponse(
  response: IncomingMessage,
  { responseBytesMax, signal }: { readonly responseBytesMax: number; readonly signal: AbortSignal },
): Promise<void> {
  const onAbort = (): void => void response.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  let receivedBytes = 0;
  await new Promise<void>((done) => {
    response.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (receivedBytes > responseBytesMax) response.destroy();
    });
    response.once('close', () => done());
  });
  signal.removeEventListener('abort', onAbort);
}
