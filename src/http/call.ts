import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Owner, RequestLog } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { Ids } from '../core/id.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { Family } from '../protocols/endpoint.ts';
import { FAMILIES, familyOf } from '../protocols/families.ts';
import type { Address } from './address.ts';
import { createPatience } from './patience.ts';
import type { Patience } from './patience.ts';
import { pathOf } from './target.ts';

/** One request from its arrival to its log line. */
export interface Call {
  readonly requestId: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Milliseconds since the epoch. */
  readonly arrivedAt: number;
  readonly address: Address;
  /** The path's until a route is known. */
  readonly family: Family;
  /** Go out with whatever is answered. */
  readonly headers: Record<string, string>;
  readonly log: RequestLog;
  /** With its sender, while the body comes in. */
  readonly patience: Patience;
  /** The body is going to be read: a sender who waits for leave to send it (Expect: 100-continue) has it from here on. */
  wantBody(): void;
  /** For the work: aborts at the deadline, at shutdown, and when the caller leaves if that cancels the work. */
  readonly signal: AbortSignal;
  /** For the answer: aborts whenever there is nobody to answer any more. */
  gone(): AbortSignal;
  /** `not-found` and the like until a route is known. */
  operation: string;
  owner: Owner | undefined;
  /** Whether the work stops when the caller leaves; so until an endpoint says otherwise. */
  cancelsOnLeave: boolean;
  /** What was answered, or why a stream broke off. */
  error: ServiceError | undefined;
  /** A route is known: its family decides how the call is answered. */
  setFamily(family: Family): void;
  /** The work has to end by then; replaces an earlier one. Counted from the arrival. */
  setDeadline(ms: number): void;
  abort(reason: ServiceError): void;
  /** The head goes out now. */
  markFirstByte(): void;
  elapsedMs(): number;
  /** The connection speaks another protocol from here on: there is no response to wait for. */
  switched(): void;
  /** The work is over; with the end of the response the line is written. */
  settle(): void;
}

export interface CallNeeds {
  readonly address: Address;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  /** Whether the sender waits for leave to send the body. */
  readonly awaitsLeave: boolean;
  /** The sender takes too long. */
  readonly onSlow: () => void;
  /** After the line was written. */
  readonly onEnd: (call: Call) => void;
}

const STATUS_SWITCHED = 101;

/** What nginx calls a request whose caller left before an answer; no such status is ever sent. */
const STATUS_LEFT = 499;

export function createCall(request: IncomingMessage, response: ServerResponse, needs: CallNeeds): Call {
  const { address, clock, log, meter } = needs;
  const requestId = needs.ids.request();
  const family = familyOf(pathOf(request));
  const startedAt = clock.monotonic();
  const facts: Record<string, string | number | boolean | undefined> = {};
  const work = new AbortController();
  /** Where leaving does not cancel the work, its own; else the same. Made when it is asked for: most calls need one. */
  let line: AbortController | undefined;
  let firstByteAt: number | undefined;
  let deadline: NodeJS.Timeout | undefined;
  let { awaitsLeave } = needs;
  let isSwitched = false;
  let isSettled = false;
  let isClosed = false;
  let isEnded = false;

  // Fields and methods only: an object literal with a getter gets a hidden class of its own each time it is made, which
  // keeps all that the getter sees until the next full collection.
  const call: Call & { family: Family } = {
    requestId,
    request,
    response,
    arrivedAt: clock.now(),
    address,
    family,
    headers: baseHeaders(requestId, family, address),
    log: {
      add: (more) => void Object.assign(facts, more),
      warn: (message, more) => log.warn(message, { requestId, ...more }),
    },
    patience: createPatience(request, needs.onSlow),
    wantBody() {
      if (!awaitsLeave) return;
      awaitsLeave = false;
      response.writeContinue();
    },
    signal: work.signal,
    gone() {
      if (call.cancelsOnLeave) return work.signal;
      line ??= new AbortController();
      return line.signal;
    },
    operation: 'unknown',
    owner: undefined,
    cancelsOnLeave: true,
    error: undefined,
    setFamily(routes) {
      if (routes === call.family) return;
      call.family = routes;
      delete call.headers['request-id'];
      Object.assign(call.headers, familyHeaders(requestId, routes));
    },
    setDeadline(ms) {
      clearTimeout(deadline);
      const timeout = (): void => call.abort(new ServiceError('timeout', `It ran longer than ${ms / 1000} s.`));
      deadline = setTimeout(timeout, Math.max(0, ms - call.elapsedMs())).unref();
    },
    abort(reason) {
      work.abort(reason);
      line?.abort(reason);
    },
    markFirstByte() {
      firstByteAt ??= clock.monotonic();
    },
    elapsedMs: () => clock.monotonic() - startedAt,
    switched() {
      isSwitched = true;
      isClosed = true;
    },
    settle() {
      isSettled = true;
      end();
    },
  };

  const leave = (): void => {
    const reason = new ServiceError('cancelled', 'The caller left.');
    call.error ??= reason;
    line?.abort(reason);
    if (call.cancelsOnLeave) work.abort(reason);
  };

  const end = (): void => {
    if (!isSettled || !isClosed || isEnded) return;
    isEnded = true;
    clearTimeout(deadline);
    const answered = response.headersSent ? response.statusCode : STATUS_LEFT;
    const status = isSwitched ? STATUS_SWITCHED : answered;
    const durationMs = call.elapsedMs();
    const firstByteMs = firstByteAt === undefined ? undefined : firstByteAt - startedAt;
    const kind = call.error?.kind ?? 'none';
    const { operation, error } = call;
    const { deployment } = facts;
    const { region = address.region, workspace = '' } = call.owner ?? {};
    const written = {
      requestId,
      operation,
      method: request.method,
      status,
      kind,
      param: error?.param,
      region: address.region,
      workspace: call.owner?.workspace,
      keyId: call.owner?.keyId,
      durationMs: round(durationMs),
      firstByteMs: firstByteMs === undefined ? undefined : round(firstByteMs),
      ...facts,
    };
    if (error && FAMILIES.native.status(error.kind) >= 500) log.error('request', { ...written, error });
    else log.info('request', written);
    meter.requestEnded({
      operation,
      status,
      kind,
      durationMs,
      ...(firstByteMs === undefined ? {} : { firstByteMs }),
      promptTokens: count(facts['promptTokens']),
      cachedTokens: count(facts['cachedTokens']),
      completionTokens: count(facts['completionTokens']),
      ...(typeof deployment === 'string' ? { deployment: { region, workspace, name: deployment } } : {}),
    });
    needs.onEnd(call);
  };

  // A response whose peer has left may still report that; nobody is there to be told.
  response.on('error', () => undefined);
  response.once('close', () => {
    isClosed = true;
    if (!response.writableFinished) leave();
    end();
  });
  return call;
}

function baseHeaders(requestId: string, family: Family, { deprecated }: Address): Record<string, string> {
  return {
    'x-request-id': requestId,
    ...familyHeaders(requestId, family),
    ...(deprecated
      ? { deprecation: `@${deprecated.since}`, link: `<${deprecated.successor}>; rel="successor-version"` }
      : {}),
  };
}

const familyHeaders = (requestId: string, family: Family): Readonly<Record<string, string>> =>
  family === 'messages' ? { 'request-id': requestId } : {};

const count = (fact: unknown): number => (typeof fact === 'number' ? fact : 0);

const round = (ms: number): number => Math.round(ms * 10) / 10;
