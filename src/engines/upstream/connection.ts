import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { ServiceError } from '../../core/error.ts';
import { abortReason } from '../abort-reason.ts';
import { endOnAbort } from '../end-on-abort.ts';
import type { Faults } from './faults.ts';
import { createWatch } from './watch.ts';
import type { Watch } from './watch.ts';

export interface UpstreamTimeouts {
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

interface PostOptions {
  readonly requestId: string;
  readonly signal: AbortSignal;
}

export interface Connection {
  /**
   * @param body JSON.
   * @throws ServiceError `upstream-failed`, `timeout`, or the signal's reason.
   */
  post(body: string, options: PostOptions): Promise<Call>;
  /** Calls that still run break off. */
  close(): void;
}

export interface ConnectionOptions {
  readonly url: URL;
  readonly apiKey: string | undefined;
  readonly timeouts: UpstreamTimeouts;
  readonly faults: Faults;
}

/**
 * Calls to one address over connections that are kept. `node:http` and not fetch: it hands over strings without web
 * streams in between, ends the socket at once when destroyed, and follows no redirect, so the key goes nowhere else.
 */
export function createConnection({ url, apiKey, timeouts, faults }: ConnectionOptions): Connection {
  const isTls = url.protocol === 'https:';
  const newAgent = (keepAlive: boolean): HttpAgent =>
    isTls ? new HttpsAgent({ keepAlive }) : new HttpAgent({ keepAlive });
  const kept = newAgent(true);
  const fresh = newAgent(false);
  let isClosed = false;
  const send = isTls ? httpsRequest : httpRequest;

  const attempt = (body: string, { requestId, signal }: PostOptions, agent: HttpAgent): Promise<Call> =>
    new Promise((resolve, reject) => {
      const sent = send(url, {
        agent,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'text/event-stream',
          'accept-encoding': 'identity',
          'x-request-id': requestId,
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        },
      });
      endOnAbort(sent, signal);
      const watch = createWatch(() => sent.destroy());
      const why = (thrown: unknown): ServiceError => {
        if (signal.aborted) return abortReason(signal);
        if (thrown instanceof ServiceError) return thrown;
        const slow = watch.expired();
        if (slow !== undefined) return faults.tooSlow(slow);
        const code = codeOf(thrown);
        return code === undefined ? ServiceError.from(thrown) : faults.failed(`broke the connection: ${code}`);
      };
      watch.begin('connecting', timeouts.connectMs);
      onConnected(sent, isTls, () => watch.begin('the first event', timeouts.firstTokenMs));
      sent.on('response', (response) => resolve({ response, watch, why }));
      // Also where nobody reads the answer: nothing is waited for any more.
      sent.on('close', () => watch.rest());
      sent.on('error', (error) => {
        watch.rest();
        const isOurs = signal.aborted || isClosed || watch.expired() !== undefined;
        reject(sent.reusedSocket && !isOurs && isReset(error) ? new StaleConnectionError() : why(error));
      });
      sent.end(body);
    });

  return {
    async post(body, options) {
      if (options.signal.aborted) throw abortReason(options.signal);
      try {
        return await attempt(body, options, kept);
      } catch (error) {
        if (!(error instanceof StaleConnectionError)) throw error;
        return await attempt(body, options, fresh);
      }
    },
    close() {
      isClosed = true;
      kept.destroy();
      fresh.destroy();
    },
  };
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
