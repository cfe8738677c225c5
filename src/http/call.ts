import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Owner, RequestLog } from '../core/context.ts';
import { ServiceError, createDeadlineError } from '../core/error.ts';
import type { IdGenerator } from '../core/id.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { ProtocolFamily } from '../protocols/endpoint.ts';
import { FAMILIES, resolveFamily } from '../protocols/families.ts';
import type { RequestAddress } from './request-address.ts';
import { createReceiveTimeout, type ReceiveTimeout } from './receive-timeout.ts';
import { describeRequestPath, getRequestPath } from './request-target.ts';

/** One HTTP request, from its arrival to its log line. */
export interface Call {
  readonly requestId: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Arrival in ms since the epoch. */
  readonly arrivedAt: number;
  readonly address: RequestAddress;
  /** Protocol family of the path until a route is found, then the family of the route. */
  readonly family: ProtocolFamily;
  /** Headers of the response, whatever its status. */
  readonly headers: Record<string, string>;
  readonly log: RequestLog;
  /** Limits how long the client may take to send the body. */
  readonly receiveTimeout: ReceiveTimeout;
  /** Announces that the body will be read: sends `100 Continue` if the client waits for it. */
  acceptBody(): void;
  /** Aborts the work: at the deadline, at shutdown, and when the client disconnects if `cancelsOnDisconnect`. */
  readonly signal: AbortSignal;
  /** Returns the signal that aborts the response: as `signal`, and also whenever the client disconnects. */
  getResponseSignal(): AbortSignal;
  /** Name for logs and metrics; `unknown` until a route is found. */
  operation: string;
  owner: Owner | undefined;
  /** Whether a disconnect of the client cancels the work. True until an endpoint changes it. */
  cancelsOnDisconnect: boolean;
  /** The error that was sent, or the reason why a stream broke off. */
  error: ServiceError | undefined;
  /** Sets the family of the route, which decides the shape of responses. */
  setFamily(family: ProtocolFamily): void;
  /** Sets the deadline of the work in ms since the arrival. Replaces an earlier deadline. */
  setDeadline(ms: number): void;
  abort(reason: ServiceError): void;
  /** Records the time of the first response byte. Called when the head is sent. */
  markFirstByte(): void;
  elapsedMs(): number;
  /** Records that the connection was upgraded to another protocol, so no response follows. */
  markUpgraded(): void;
  /** Records that the handler is done. The log line is written once the response is finished too. */
  markHandled(): void;
}

export interface CallDeps {
  readonly address: RequestAddress;
  readonly ids: IdGenerator;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
  /** Called when the client takes too long to send the body. */
  readonly onReceiveTimeout: () => void;
  /** Called after the log line is written. */
  readonly onFinished: (call: Call) => void;
}

const STATUS_SWITCHING_PROTOCOLS = 101;

/** Status that nginx logs when the client closed the connection before the response. It is never sent. */
const STATUS_CLIENT_CLOSED_REQUEST = 499;

export function createCall(request: IncomingMessage, response: ServerResponse, deps: CallDeps): Call {
  const { address, clock, log, meter } = deps;
  const requestId = deps.ids.createRequestId();
  const family = resolveFamily(getRequestPath(request));
  const startedAt = clock.monotonic();
  const requestFields: Record<string, string | number | boolean | undefined> = {};
  const workAbort = new AbortController();
  /** Aborts the response where a disconnect does not cancel the work. Created on demand: most calls do not need it. */
  let responseAbort: AbortController | undefined;
  let disconnectReason: ServiceError | undefined;
  let firstByteAt: number | undefined;
  let deadline: NodeJS.Timeout | undefined;
  let { expectsContinue } = deps;
  let isUpgraded = false;
  let isHandled = false;
  let isClosed = false;
  let isLogged = false;

  // Fields and methods only: each object literal with a getter gets its own hidden class, which retains everything that
  // the
  // getter references until the next full garbage collection.
  const call: Call & { family: ProtocolFamily } = {
    requestId,
    request,
    response,
    arrivedAt: clock.now(),
    address,
    family,
    headers: createBaseHeaders(requestId, family, address),
    log: {
      add: (fields) => void Object.assign(requestFields, fields),
      warn: (message, fields) => log.warn(message, { requestId, ...fields }),
    },
    receiveTimeout: createReceiveTimeout(request, deps.onReceiveTimeout),
    acceptBody() {
      if (!expectsContinue) return;
      expectsContinue = false;
      response.writeContinue();
    },
    signal: workAbort.signal,
    getResponseSignal() {
      if (call.cancelsOnDisconnect) return workAbort.signal;
      if (!responseAbort) {
        responseAbort = new AbortController();
        if (disconnectReason) responseAbort.abort(disconnectReason);
      }
      return responseAbort.signal;
    },
    operation: 'unknown',
    owner: undefined,
    cancelsOnDisconnect: true,
    error: undefined,
    setFamily(routeFamily) {
      if (routeFamily === call.family) return;
      call.family = routeFamily;
      delete call.headers['request-id'];
      Object.assign(call.headers, createFamilyHeaders(requestId, routeFamily));
    },
    setDeadline(ms) {
      clearTimeout(deadline);
      const timeout = (): void => call.abort(createDeadlineError(ms));
      deadline = setTimeout(timeout, Math.max(0, ms - call.elapsedMs())).unref();
    },
    abort(reason) {
      workAbort.abort(reason);
      responseAbort?.abort(reason);
    },
    markFirstByte() {
      firstByteAt ??= clock.monotonic();
    },
    elapsedMs: () => clock.monotonic() - startedAt,
    markUpgraded() {
      isUpgraded = true;
      isClosed = true;
    },
    markHandled() {
      isHandled = true;
      logWhenFinished();
    },
  };

  const onDisconnect = (): void => {
    disconnectReason = new ServiceError('cancelled', 'The client disconnected.');
    call.error ??= disconnectReason;
    responseAbort?.abort(disconnectReason);
    if (call.cancelsOnDisconnect) workAbort.abort(disconnectReason);
  };

  const logWhenFinished = (): void => {
    if (!isHandled || !isClosed || isLogged) return;
    isLogged = true;
    clearTimeout(deadline);
    const responseStatus = response.headersSent ? response.statusCode : STATUS_CLIENT_CLOSED_REQUEST;
    const status = isUpgraded ? STATUS_SWITCHING_PROTOCOLS : responseStatus;
    const durationMs = call.elapsedMs();
    const firstByteMs = firstByteAt === undefined ? undefined : firstByteAt - startedAt;
    const kind = call.error?.kind ?? 'none';
    const { operation, error } = call;
    const { deployment } = requestFields;
    const { region = address.region, workspace = '' } = call.owner ?? {};
    const logFields = {
      requestId,
      operation,
      method: request.method,
      // Helps to find wrong base URLs; the paths of known operations may contain ids.
      path: operation === 'unknown' ? describeRequestPath(request) : undefined,
      status,
      kind,
      param: error?.param,
      region: address.region,
      workspace: call.owner?.workspace,
      keyId: call.owner?.keyId,
      durationMs: roundToTenth(durationMs),
      firstByteMs: firstByteMs === undefined ? undefined : roundToTenth(firstByteMs),
      ...requestFields,
    };
    if (error && FAMILIES.native.getStatus(error.kind) >= 500) log.error('request', { ...logFields, error });
    else log.info('request', logFields);
    meter.recordRequest({
      operation,
      status,
      kind,
      durationMs,
      ...(firstByteMs === undefined ? {} : { firstByteMs }),
      promptTokens: toCount(requestFields['promptTokens']),
      cachedTokens: toCount(requestFields['cachedTokens']),
      completionTokens: toCount(requestFields['completionTokens']),
      ...(typeof deployment === 'string' ? { deployment: { region, workspace, name: deployment } } : {}),
    });
    deps.onFinished(call);
  };

  // A response can emit this error after its client has disconnected; there is nothing left to do.
  response.on('error', () => undefined);
  response.once('close', () => {
    isClosed = true;
    if (!response.writableFinished) onDisconnect();
    logWhenFinished();
  });
  return call;
}

function createBaseHeaders(
  requestId: string,
  family: ProtocolFamily,
  { deprecated }: RequestAddress,
): Record<string, string> {
  return {
    'x-request-id': requestId,
    ...createFamilyHeaders(requestId, family),
    ...(deprecated
      ? { deprecation: `@${deprecated.since}`, link: `<${deprecated.successor}>; rel="successor-version"` }
      : {}),
  };
}

const createFamilyHeaders = (requestId: string, family: ProtocolFamily): Readonly<Record<string, string>> =>
  family === 'messages' ? { 'request-id': requestId } : {};

const toCount = (value: unknown): number => (typeof value === 'number' ? value : 0);

const roundToTenth = (ms: number): number => Math.round(ms * 10) / 10;
