import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { isIP } from 'node:net';
import { FETCH_HEADER_BYTES_MAX } from '../core/limits.ts';
import type { FetchDeadlines } from './fetch-deadlines.ts';
import { connectionFailure, unusableHost } from './fetch-refusals.ts';
import type { Resolve } from './resolve.ts';
import { hostOf } from './url-rules.ts';
import type { UrlRules } from './url-rules.ts';

export interface HopNeeds {
  readonly rules: UrlRules;
  readonly resolve: Resolve;
  readonly deadlines: FetchDeadlines;
  readonly connectMs: number;
  readonly headMs: number;
  readonly accept: string;
  /** Who asks, where that is told. */
  readonly userAgent?: string | undefined;
  /** Beside those that every request has; lower-case names. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly certificates: readonly string[] | undefined;
  /** Makes it a POST. */
  readonly content?: Content | undefined;
}

/** What is sent to a URL. */
export interface Content {
  readonly type: string;
  readonly bytes: Uint8Array;
  /** Beside those that every request has; lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * One request to one URL: its name is resolved once, judged, and connected to by just those addresses. The connection is
 * of this request alone, and passes no proxy whatever the environment names. The only headers that go out are ours and those of `needs`.
 *
 * @throws ServiceError; the signal's reason. An answer of any status is none.
 */
export async function hop(url: URL, needs: HopNeeds): Promise<IncomingMessage> {
  const { rules, resolve, deadlines, connectMs, headMs, accept, certificates, content } = needs;
  const { userAgent = 'parley', headers } = needs;
  deadlines.signal.throwIfAborted();
  deadlines.begin('to connect', connectMs);
  const host = hostOf(url);
  const addresses = isIP(host) === 0 ? await unlessAborted(resolved(resolve, host), deadlines.signal) : [host];
  rules.checkAddresses(host, addresses);

  const isTls = url.protocol === 'https:';
  const shared = {
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
      ...(content ? headersOf(content) : {}),
    },
    lookup: lookupOf(addresses),
    maxHeaderSize: FETCH_HEADER_BYTES_MAX,
  };
  const request = isTls
    ? httpsRequest({
        ...shared,
        agent: new HttpsAgent({ keepAlive: false }),
        rejectUnauthorized: true,
        ...(certificates ? { ca: [...certificates] } : {}),
      })
    : httpRequest({ ...shared, agent: new HttpAgent({ keepAlive: false }) });
  const { signal } = deadlines;
  const onAbort = (): void => void request.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await new Promise<IncomingMessage>((answered, failed) => {
      request.on('socket', (socket) => {
        socket.once(isTls ? 'secureConnect' : 'connect', () => deadlines.begin('to answer', headMs));
      });
      request.on('response', (response) => {
        // Its reader hears of errors while it reads; nobody else has to.
        response.on('error', () => undefined);
        answered(response);
      });
      request.on('error', failed);
      // A server that changes the protocol has its socket closed without a response and without an error.
      request.on('close', () => failed(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
      request.end(content?.bytes);
    });
  } catch (thrown) {
    signal.throwIfAborted();
    throw connectionFailure(thrown);
  } finally {
    deadlines.rest();
    signal.removeEventListener('abort', onAbort);
  }
}

const headersOf = ({ type, bytes, headers }: Content): Readonly<Record<string, string>> => ({
  ...headers,
  'content-type': type,
  'content-length': String(bytes.byteLength),
});

async function resolved(resolve: Resolve, host: string): Promise<readonly string[]> {
  try {
    return await resolve(host);
  } catch (thrown) {
    throw unusableHost(thrown);
  }
}

/** Never asks anybody: between the judgement and the connection nothing is resolved again. */
const lookupOf =
  (addresses: readonly string[]): LookupFunction =>
  (_host, options, callback) => {
    const all = addresses.map((address) => ({ address, family: isIP(address) }));
    if (options.all === true) callback(null, all);
    else callback(null, all[0]?.address ?? '', all[0]?.family ?? 0);
  };

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
