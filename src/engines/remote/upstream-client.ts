import {
  Agent as HttpAgent,
  request as httpRequest,
  validateHeaderValue,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isDescriptorShortage, ServiceError } from '../../core/error.ts';
import {
  UPSTREAM_CONNECT_MS,
  UPSTREAM_FIRST_TOKEN_MS,
  UPSTREAM_IDLE_MS,
  UPSTREAM_IDLE_SOCKETS_MAX,
} from '../limits.ts';
import { getAbortError } from '../get-abort-error.ts';
import { destroyOnAbort } from '../destroy-on-abort.ts';
import { createServerAddress } from './server-address.ts';
import { createUpstreamErrorFactory, type UpstreamErrorFactory } from './upstream-error-factory.ts';
import { createStepTimer, type StepTimer } from './step-timer.ts';
import { getErrorCode } from '../../lib/error-code.ts';

export interface UpstreamTimeouts {
  /** Limit until the connection is established, TLS handshake included. */
  readonly connectMs: number;
  /** Limit from then on until the first event of the answer; response head and comments do not count as events. */
  readonly firstTokenMs: number;
  /** Limit between two events of an answer. Time that Parley's own reader takes does not count. */
  readonly idleMs: number;
}

/** Response whose head has arrived. */
export interface UpstreamCall {
  readonly response: IncomingMessage;
  /** Runs until the first event; the reader of the body continues with it. */
  readonly timer: StepTimer;
  /** Maps an error while reading the body to its cause: the caller left, a timeout of Parley, or the upstream. */
  readonly mapError: (thrown: unknown) => ServiceError;
}

export interface UpstreamCallOptions {
  /** Appears in the logs of both sides. */
  readonly requestId?: string;
  readonly signal?: AbortSignal;
  /** Replaces `firstTokenMs` for calls that generate nothing. In milliseconds. */
  readonly responseMs?: number;
}

/** HTTP client of one upstream server. */
export interface UpstreamClient {
  /** Creates the errors of this server. */
  readonly errors: UpstreamErrorFactory;
  readonly timeouts: UpstreamTimeouts;
  /**
   * @param path As for `ServerEndpoint.resolveUrl`.
   * @throws ServiceError `upstream-failed`, `timeout`, or the signal's reason. A response with any status resolves.
   */
  get(path: string, options: UpstreamCallOptions): Promise<UpstreamCall>;
  /** @param body JSON. @throws as `get`. */
  post(path: string, body: string | Buffer, options: UpstreamCallOptions): Promise<UpstreamCall>;
  /** Aborts all running calls. */
  close(): void;
}

/** Environment variables that name proxies, in upper or lower case: `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

export interface UpstreamClientOptions {
  /** Base address, as for `createServerAddress`. */
  readonly url: string;
  /** Bearer token, sent only to this address. Empty: none. */
  readonly apiKey?: string | undefined;
  readonly timeouts?: Partial<UpstreamTimeouts> | undefined;
  /** Absent for servers that Parley itself runs: calls to them use no proxy. */
  readonly proxies?: ProxyEnvironment | undefined;
}

const DEFAULT_TIMEOUTS: UpstreamTimeouts = {
  connectMs: UPSTREAM_CONNECT_MS,
  firstTokenMs: UPSTREAM_FIRST_TOKEN_MS,
  idleMs: UPSTREAM_IDLE_MS,
};

interface RequestTarget {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly body?: string | Buffer;
}

/**
 * Creates a client with keep-alive connections. It uses `node:http` and not `fetch`: `node:http` passes strings without
 * web streams in between, closes the socket at once when destroyed, and follows no redirect, which would leak the key.
 *
 * @throws ServiceError `upstream-failed` when the key contains characters that a header cannot hold.
 */
export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const apiKey = options.apiKey === '' ? undefined : options.apiKey;
  const address = createServerAddress(options.url);
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const errors = createUpstreamErrorFactory({ upstream: address.host, apiKey, secrets: address.secrets });
  validateApiKey(apiKey, errors);
  const isTls = address.resolveUrl('').protocol === 'https:';
  // The number of busy sockets is not limited here: the server or a pool of servers limits concurrency. By default, Node
  // sets TCP_NODELAY.
  const createAgent = (keepAlive: boolean): HttpAgent => {
    const agentOptions = {
      keepAlive,
      maxFreeSockets: UPSTREAM_IDLE_SOCKETS_MAX,
      ...(options.proxies ? { proxyEnv: pickProxySettings(options.proxies) } : {}),
    };
    return isTls ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  };
  const keepAliveAgent = createAgent(true);
  const freshAgent = createAgent(false);
  const closeIdleSockets = (): void => {
    for (const sockets of Object.values(keepAliveAgent.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
  };
  let isClosed = false;
  const openRequest = isTls ? httpsRequest : httpRequest;

  const sendOnce = (
    { url, method, body }: RequestTarget,
    call: UpstreamCallOptions,
    agent: HttpAgent,
  ): Promise<UpstreamCall> =>
    new Promise((resolve, reject) => {
      const { signal, requestId } = call;
      const request = openRequest(url, {
        agent,
        method,
        // A proxy tunnel that never opens has no socket to destroy: this timeout ends it after the connect limit.
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
      destroyOnAbort(request, signal);
      const onAbort = (): void => {
        if (signal) reject(getAbortError(signal));
      };
      const timer = createStepTimer(() => {
        request.destroy();
        // A request that waits for a proxy emits no error when destroyed.
        reject(errors.createTimeout(timer.getExpiredStep() ?? ''));
      });
      const mapError = (thrown: unknown): ServiceError => {
        if (signal?.aborted) return getAbortError(signal);
        if (thrown instanceof ServiceError) return thrown;
        const expiredStep = timer.getExpiredStep();
        if (expiredStep !== undefined) return errors.createTimeout(expiredStep);
        if (isDescriptorShortage(thrown)) closeIdleSockets();
        const code = getErrorCode(thrown);
        if (code === undefined || isDescriptorShortage(thrown)) return ServiceError.from(thrown);
        return errors.createFailure(
          `broke the connection: ${code}`,
          UNREACHABLE_CODES.has(code) ? 'unreachable' : undefined,
        );
      };
      timer.startStep('connecting', timeouts.connectMs);
      watchConnect(request, isTls, () => timer.startStep('the first event', call.responseMs ?? timeouts.firstTokenMs));
      signal?.addEventListener('abort', onAbort, { once: true });
      request.on('response', (response) => resolve({ response, timer, mapError }));
      // Also fires when nobody reads the response: the timer must not run on.
      request.on('close', () => {
        timer.stop();
        signal?.removeEventListener('abort', onAbort);
        // When a server switches protocols, Node destroys the socket without a response and without an error.
        reject(mapError(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
      });
      request.on('error', (error) => {
        timer.stop();
        const isExpected = signal?.aborted === true || isClosed || timer.getExpiredStep() !== undefined;
        reject(request.reusedSocket && !isExpected && isReset(error) ? new StaleConnectionError() : mapError(error));
      });
      request.end(body);
    });

  const sendWithRetry = async (target: RequestTarget, call: UpstreamCallOptions): Promise<UpstreamCall> => {
    const { signal } = call;
    if (signal?.aborted) throw getAbortError(signal);
    try {
      return await sendOnce(target, call, keepAliveAgent);
    } catch (error) {
      if (!(error instanceof StaleConnectionError)) throw error;
      return await sendOnce(target, call, freshAgent);
    }
  };

  return {
    errors,
    timeouts,
    get: (path, call) => sendWithRetry({ url: address.resolveUrl(path), method: 'GET' }, call),
    post: (path, body, call) => sendWithRetry({ url: address.resolveUrl(path), method: 'POST', body }, call),
    close() {
      isClosed = true;
      keepAliveAgent.destroy();
      freshAgent.destroy();
    },
  };
}

function validateApiKey(apiKey: string | undefined, errors: UpstreamErrorFactory): void {
  if (apiKey === undefined) return;
  try {
    validateHeaderValue('authorization', apiKey);
  } catch {
    throw errors.createFailure(
      'was not called: its key (apiKeyEnv of the catalogue entry) contains a character that no HTTP header may hold, such as a line break',
    );
  }
}

/** Passes only the proxy variables to the agent, not the whole environment. */
function pickProxySettings(environment: ProxyEnvironment): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) {
    const value = environment[name.toLowerCase()] ?? environment[name];
    if (value) settings[name] = value;
  }
  return settings;
}

/** The upstream closed a keep-alive connection at the moment when it was reused. */
class StaleConnectionError extends Error {}

/** Codes of errors that show that nothing listens at the address. */
const UNREACHABLE_CODES: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND']);

const isReset = (error: Error): boolean => ['ECONNRESET', 'EPIPE'].includes(getErrorCode(error) ?? '');

function watchConnect(request: ClientRequest, isTls: boolean, onConnect: () => void): void {
  request.on('socket', (socket) => {
    if (socket.connecting) socket.once(isTls ? 'secureConnect' : 'connect', onConnect);
    else onConnect();
  });
}

/** Returns only the code: messages of the system may contain addresses and paths. Undefined: not a connection error. */
