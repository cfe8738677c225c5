import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { FETCH_HEADER_BYTES_MAX } from './limits.ts';
import type { FetchDeadlines } from './fetch-deadlines.ts';
import { toConnectionError, createHostError } from './fetch-errors.ts';
import type { ResolveHost } from './resolve-host.ts';
import { getHost } from '../lib/public-hosts.ts';
import type { UrlRules } from './url-rules.ts';
import { raceWithAbort } from '../lib/race-with-abort.ts';

export interface SendRequestOptions {
  readonly rules: UrlRules;
  readonly resolve: ResolveHost;
  readonly deadlines: FetchDeadlines;
  /** Time limit for resolving the name and connecting, in ms. */
  readonly connectMs: number;
  /** Time limit from the connection to the response head, in ms. */
  readonly headMs: number;
  readonly accept: string;
  /** The User-Agent header. Default: `parley`. */
  readonly userAgent?: string | undefined;
  /** Additional headers with lower-case names. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** PEM texts of the certificate authorities to trust instead of the runtime's. */
  readonly certificates: readonly string[] | undefined;
  /** Sends a POST with this body. */
  readonly content?: RequestContent | undefined;
}

/** The body of a POST. */
export interface RequestContent {
  readonly type: string;
  readonly bytes: Uint8Array;
  /** Additional headers with lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends one request to one URL. Its host name is resolved once, the addresses are checked, and the connection uses
 * exactly these addresses. The connection serves this request only. Proxy settings of the environment are ignored.
 * Sends no headers other than the fixed ones and those of `options`.
 *
 * @returns the response, whatever its HTTP status.
 * @throws ServiceError if the addresses are not allowed or the connection fails; else the reason of the aborted signal.
 */
export async function sendRequest(url: URL, options: SendRequestOptions): Promise<IncomingMessage> {
  const { rules, resolve, deadlines, connectMs, headMs, accept, certificates, content } = options;
  const { userAgent = 'parley', headers } = options;
  deadlines.signal.throwIfAborted();
  deadlines.startPhase('to connect', connectMs);
  const host = getHost(url);
  const addresses = isIP(host) === 0 ? await raceWithAbort(resolveAddresses(resolve, host), deadlines.signal) : [host];
  rules.assertAddressesAllowed(host, addresses);

  const isTls = url.protocol === 'https:';
  const commonOptions = {
    method: content ? 'POST' : 'GET',
    protocol: url.protocol,
    hostname: host,
    port: url.port,
    path: `${url.pathname}${url.search}`,
    headers: {
      ...headers,
      accept,
      'accept-encoding': 'gzip, deflate, br',
      'user-agent': userAgent,
      ...(content ? createContentHeaders(content) : {}),
    },
    lookup: createFixedLookup(addresses),
    maxHeaderSize: FETCH_HEADER_BYTES_MAX,
  };
  const request = isTls
    ? httpsRequest({
        ...commonOptions,
        agent: new HttpsAgent({ keepAlive: false }),
        rejectUnauthorized: true,
        ...(certificates ? { ca: [...certificates] } : {}),
      })
    : httpRequest({ ...commonOptions, agent: new HttpAgent({ keepAlive: false }) });
  const { signal } = deadlines;
  const onAbort = (): void => void request.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      request.on('socket', (socket) => {
        socket.once(isTls ? 'secureConnect' : 'connect', () => deadlines.startPhase('to answer', headMs));
      });
      request.on('response', (response) => {
        // The reader of the body receives errors while it reads; otherwise they must not be unhandled.
        response.on('error', () => undefined);
        resolve(response);
      });
      request.on('error', reject);
      // When a server switches protocols, the socket closes without a response and without an error.
      request.on('close', () => reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
      request.end(content?.bytes);
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw toConnectionError(thrown);
  } finally {
    deadlines.endPhase();
    signal.removeEventListener('abort', onAbort);
  }
}

const createContentHeaders = ({ type, bytes, headers }: RequestContent): Readonly<Record<string, string>> => ({
  ...headers,
  'content-type': type,
  'content-length': String(bytes.byteLength),
});

async function resolveAddresses(resolve: ResolveHost, host: string): Promise<readonly string[]> {
  try {
    return await resolve(host);
  } catch (thrown) {
    throw createHostError(thrown);
  }
}

/** Returns the checked addresses for any name: nothing is resolved again between the check and the connection. */
const createFixedLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_host, options, callback) => {
    const results = addresses.map((address) => ({ address, family: isIP(address) }));
    if (options.all === true) callback(null, results);
    else callback(null, results[0]?.address ?? '', results[0]?.family ?? 0);
  };
