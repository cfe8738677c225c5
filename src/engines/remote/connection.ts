import { Agent as HttpAgent, request as httpRequest, validateHeaderValue } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { ServiceError } from '../../core/error.ts';
import { UPSTREAM_CONNECT_MS, UPSTREAM_FIRST_TOKEN_MS, UPSTREAM_IDLE_MS } from '../../core/limits.ts';
import { abortReason } from '../abort-reason.ts';
import { endOnAbort } from '../end-on-abort.ts';
import { createAddress } from './address.ts';
import { createFaults } from './faults.ts';
import type { Faults } from './faults.ts';
import { createWatch } from './watch.ts';
import type { Watch } from './watch.ts';

export interface RemoteTimeouts {
  /** Until the connection stands, TLS included. */
  readonly connectMs: number;
  /** From then on until the first event of the answer; a head or a keep-alive comment is none. */
  readonly firstTokenMs: number;
  /** Silence in mid-answer. Time that our own reader takes does not count. */
  readonly idleMs: number;
}

/** An answer whose head has come. */
export interface Call {
  readonly response: IncomingMessage;
  /** Runs until the first event; the reader of the body carries on with it. */
  readonly watch: Watch;
  /** What an error of the body really was: our caller's going, our own watch, or the upstream. */
  readonly why: (thrown: unknown) => ServiceError;
}

export interface CallOptions {
  /** For both sides' logs. */
  readonly requestId?: string;
  readonly signal?: AbortSignal;
  /** In the place of `firstTokenMs`, for calls that generate nothing. */
  readonly answerMs?: number;
}

export interface Connection {
  /** Makes what this server's failures are told as. */
  readonly faults: Faults;
  readonly timeouts: RemoteTimeouts;
  /**
   * @param path As for `Address.of`.
   * @throws ServiceError `upstream-failed`, `timeout`, or the signal's reason. An answer of any status is none.
   */
  get(path: string, options: CallOptions): Promise<Call>;
  /** @param body JSON. @throws as `get`. */
  post(path: string, body: string, options: CallOptions): Promise<Call>;
  /** Calls that still run break off. */
  close(): void;
}

/** The variables that name proxies, in either case: `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

export interface ConnectionOptions {
  /** Base address, as for `createAddress`. */
  readonly url: string;
  /** Sent as a bearer token to this address and nowhere else. Empty: none. */
  readonly apiKey?: string | undefined;
  readonly timeouts?: Partial<RemoteTimeouts> | undefined;
  /** Absent for servers of our own: calls to them pass no proxy. */
  readonly proxies?: ProxyEnvironment | undefined;
}

const TIMEOUTS: RemoteTimeouts = {
  connectMs: UPSTREAM_CONNECT_MS,
  firstTokenMs: UPSTREAM_FIRST_TOKEN_MS,
  idleMs: UPSTREAM_IDLE_MS,
};

interface Question {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly body?: string;
}

/**
 * Calls to one server over connections that are kept. `node:http` and not fetch: it hands over strings without web
 * streams in between, ends the socket at once when destroyed, and follows no redirect, so the key goes nowhere else.
 *
 * @throws ServiceError `upstream-failed` when the key cannot stand in a header.
 */
export function createConnection(options: ConnectionOptions): Connection {
  const apiKey = options.apiKey === '' ? undefined : options.apiKey;
  const address = createAddress(options.url);
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const faults = createFaults({ upstream: address.host, apiKey });
  checkKey(apiKey, faults);
  const isTls = address.of('').protocol === 'https:';
  // As many sockets as there are calls: what a server takes at once is for it, or for a pool of servers, to say. By
  // itself node keeps 256 of them for the next calls, and lets no small write wait.
  const newAgent = (keepAlive: boolean): HttpAgent => {
    const how = { keepAlive, ...(options.proxies ? { proxyEnv: proxiesIn(options.proxies) } : {}) };
    return isTls ? new HttpsAgent(how) : new HttpAgent(how);
  };
  const kept = newAgent(true);
  const fresh = newAgent(false);
  let isClosed = false;
  const send = isTls ? httpsRequest : httpRequest;

  const attempt = ({ url, method, body }: Question, call: CallOptions, agent: HttpAgent): Promise<Call> =>
    new Promise((resolve, reject) => {
      const { signal, requestId } = call;
      const sent = send(url, {
        agent,
        method,
        // A tunnel that never stands has no socket that could be destroyed: this ends it, after we have given it up.
        ...(options.proxies ? { timeout: 2 * timeouts.connectMs } : {}),
        headers: {
          accept: body === undefined ? 'application/json' : 'text/event-stream, application/json',
          'accept-encoding': 'identity',
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...(requestId === undefined ? {} : { 'x-request-id': requestId }),
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        },
      });
      endOnAbort(sent, signal);
      const onAbort = (): void => {
        if (signal) reject(abortReason(signal));
      };
      const watch = createWatch(() => {
        sent.destroy();
        // It says nothing itself while it waits for a proxy.
        reject(faults.tooSlow(watch.expired() ?? ''));
      });
      const why = (thrown: unknown): ServiceError => {
        if (signal?.aborted) return abortReason(signal);
        if (thrown instanceof ServiceError) return thrown;
        const slow = watch.expired();
        if (slow !== undefined) return faults.tooSlow(slow);
        const code = codeOf(thrown);
        return code === undefined ? ServiceError.from(thrown) : faults.failed(`broke the connection: ${code}`);
      };
      watch.begin('connecting', timeouts.connectMs);
      onConnected(sent, isTls, () => watch.begin('the first event', call.answerMs ?? timeouts.firstTokenMs));
      signal?.addEventListener('abort', onAbort, { once: true });
      sent.on('response', (response) => resolve({ response, watch, why }));
      // Also where nobody reads the answer: nothing is waited for any more.
      sent.on('close', () => {
        watch.rest();
        signal?.removeEventListener('abort', onAbort);
      });
      sent.on('error', (error) => {
        watch.rest();
        const isOurs = signal?.aborted === true || isClosed || watch.expired() !== undefined;
        reject(sent.reusedSocket && !isOurs && isReset(error) ? new StaleConnectionError() : why(error));
      });
      sent.end(body);
    });

  const ask = async (question: Question, call: CallOptions): Promise<Call> => {
    const { signal } = call;
    if (signal?.aborted) throw abortReason(signal);
    try {
      return await attempt(question, call, kept);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      return await attempt(question, call, fresh);
    }
  };

  return {
    faults,
    timeouts,
    get: (path, call) => ask({ url: address.of(path), method: 'GET' }, call),
    post: (path, body, call) => ask({ url: address.of(path), method: 'POST', body }, call),
    close() {
      isClosed = true;
      kept.destroy();
      fresh.destroy();
    },
  };
}

function checkKey(apiKey: string | undefined, faults: Faults): void {
  if (apiKey === undefined) return;
  try {
    validateHeaderValue('authorization', apiKey);
  } catch {
    throw faults.failed('was not asked: its key (apiKeyEnv of the catalogue entry) holds a line break or the like');
  }
}

/** Only these: what else the environment holds is no business of an agent. */
function proxiesIn(environment: ProxyEnvironment): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) {
    const value = environment[name.toLowerCase()] ?? environment[name];
    if (value) found[name] = value;
  }
  return found;
}

/** The upstream closed a kept connection just when we took it for this request. */
class StaleConnectionError extends Error {}

const isReset = (error: Error): boolean => ['ECONNRESET', 'EPIPE'].includes(codeOf(error) ?? '');

function onConnected(sent: ClientRequest, isTls: boolean, connected: () => void): void {
  sent.on('socket', (socket) => {
    if (socket.connecting) socket.once(isTls ? 'secureConnect' : 'connect', connected);
    else connected();
  });
}

/** Messages of the system may hold addresses and paths, codes are plain; what has none is no connection's error. */
const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;
