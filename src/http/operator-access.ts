import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../core/error.ts';
import { createNetworkMatcher } from '../lib/network-matcher.ts';
import { readBearer } from './authenticate.ts';
import { normalizeHost } from './request-address.ts';
import { getRequestHost } from './request-target.ts';

export interface OperatorAccessOptions {
  /** Grants access from everywhere. Without a token, there is access on the loopback interface only. */
  readonly token?: string | undefined;
  /** Host names, besides `localhost` and addresses of the loopback interface, of requests that need no token. */
  readonly hosts?: readonly string[];
  /** Addresses and networks (`10.0.0.0/8`) of proxies. A request that one of them sends comes from somebody else. */
  readonly trustedProxies?: readonly string[];
}

/** Headers that proxies add: behind a proxy on this machine, every request comes from the loopback interface. */
const PROXY_HEADER =
  /^(?:forwarded|via|cdn-loop|(?:x-)?(?:real|client|cluster-client|true-client|fastly-client)-ip|(?:cf|fly|fastly)-.+|x-scheme|x-(?:forwarded|original|envoy|amzn|appengine|arr|azure)-?.*)$/;

/**
 * Creates the check of requests for the operator's endpoints. A wrong token is refused everywhere. Without a token, a
 * request has to come from this machine itself, and name it as its host: a page in a browser on this machine whose name
 * resolves to 127.0.0.1 (DNS rebinding) sends its own host.
 *
 * The check throws ServiceError `unauthenticated`, which says what is missing.
 */
export function createOperatorAccess({ token, hosts = [], trustedProxies = [] }: OperatorAccessOptions) {
  const allowedHosts = new Set(['localhost', ...hosts.map(normalizeHost)]);
  const isTrustedProxy = createNetworkMatcher(trustedProxies);

  const findRefusal = (request: IncomingMessage): string | undefined => {
    const { socket, headers } = request;
    const peer = socket.remoteAddress ?? '';
    if (!isLoopback(peer) || isTrustedProxy(peer)) return 'Requests from other hosts need the operator token';
    if (Object.keys(headers).some((name) => PROXY_HEADER.test(name)))
      return 'Requests through a proxy need the operator token';
    // Pages send one of these with each request to another origin; a person who opens the address does not.
    if (headers.origin !== undefined || /^(?:cross|same)-site$/.test(String(headers['sec-fetch-site'] ?? '')))
      return 'Requests of pages in a browser need the operator token';
    const host = normalizeHost(getRequestHost(request));
    if (!allowedHosts.has(host) && !isLoopback(host.replace(/^\[(.*)\]$/, '$1')))
      return `Requests for the host ${JSON.stringify(host.slice(0, 100))} need the operator token, or this name in operatorHosts`;
    return undefined;
  };

  return (request: IncomingMessage): void => {
    if (request.headers.authorization !== undefined) {
      const sent = readBearer(request.headers);
      if (token !== undefined && sent !== undefined && isEqualSecret(sent, token)) return;
      throw createRefusal('The token in the header Authorization is not the operator token');
    }
    const refusal = findRefusal(request);
    if (refusal !== undefined) throw createRefusal(refusal);
  };
}

const createRefusal = (reason: string): ServiceError =>
  new ServiceError('unauthenticated', `${reason}: send the header Authorization: Bearer OPERATOR_TOKEN.`, {
    replacesPrescribedText: true,
  });

const isLoopback = (address: string): boolean => /^(?:::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/.test(address);

/** Compares in constant time, also tokens of different lengths. */
const isEqualSecret = (left: string, right: string): boolean => timingSafeEqual(hash(left), hash(right));

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
