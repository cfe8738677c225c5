import type { RequestContext } from '../core/context.ts';
import { ServiceError, createDeadlineError } from '../core/error.ts';
import type { IdGenerator } from '../core/id.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import { getAbortError } from '../engines/get-abort-error.ts';
import { raceWithAbort } from '../lib/race-with-abort.ts';
import { checkRegion } from '../http/authenticate.ts';
import type { ExecuteLine, LineResponse, LineRequest } from '../jobs/kinds/batch/execute-line.ts';
import type { Clock } from '../lib/clock.ts';
import { createTimedAbort } from '../lib/linked-abort.ts';
import { encodeCodeAndMessage, encodeErrorBody, getStatus as statusOf } from '../protocols/compatible/errors.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import type { Keys } from '../resources/keys/key.ts';
import { createBodyTooLargeError } from '../http/body-errors.ts';

export interface ExecuteLineDeps {
  /** The endpoints that also serve HTTP requests. */
  readonly endpoints: readonly Endpoint[];
  readonly keys: Pick<Keys, 'findActive'>;
  readonly limits: { readonly bodyBytesMax: number; readonly deadlineStreamMs: number };
  readonly ids: Pick<IdGenerator, 'createRequestId'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Pick<Meter, 'recordRequest'>;
}

/**
 * Creates the function that executes one line of a batch: like the same request over HTTP, but at background priority.
 * Batches reach only the OpenAI-compatible endpoints.
 */
export function createExecuteLine({ endpoints, keys, limits, ids, clock, log, meter }: ExecuteLineDeps): ExecuteLine {
  const findEndpoint = (url: string): Endpoint | undefined =>
    endpoints.find(({ method, path }) => method === 'POST' && path === `/compatible-mode${url}`);

  const callEndpoint = async (
    endpoint: Endpoint | undefined,
    line: LineRequest,
    context: RequestContext,
  ): Promise<EndpointAnswer> => {
    const { owner, url, sizeBytes, body } = line;
    if (!(await keys.findActive(owner.keyId))) throw new ServiceError('unauthenticated', '');
    if (!endpoint) throw new ServiceError('not-found', `No endpoint serves ${url}.`);
    checkRegion(`POST ${url}`, endpoint.regions, owner.region);
    if (sizeBytes > limits.bodyBytesMax) {
      throw createBodyTooLargeError(limits.bodyBytesMax);
    }
    const endpointRequest = { body, params: {}, query: new URLSearchParams(), headers: {} };
    const response = await raceWithAbort(endpoint.handle(endpointRequest, context), context.signal, getAbortError);
    if (response.type !== 'json')
      throw new ServiceError('unsupported', 'A batch supports JSON responses only; remove stream from the line.');
    const { status, body: responseBody, headers = {} } = response;
    return { status, body: responseBody, headers: Object.keys(headers).length > 0 ? headers : undefined };
  };

  return async (line) => {
    const requestId = ids.createRequestId();
    const startedAt = clock.monotonic();
    const logFields: Record<string, string | number | boolean | undefined> = {};
    // The limit is generous: live requests go first, and they can preempt this one several times.
    const { deadlineStreamMs } = limits;
    const abort = createTimedAbort(line.signal, deadlineStreamMs, () => createDeadlineError(deadlineStreamMs));
    const context: RequestContext = {
      requestId,
      owner: line.owner,
      priority: 'background',
      signal: abort.signal,
      log: {
        add: (fields) => void Object.assign(logFields, fields),
        warn: (message, fields) => log.warn(message, { requestId, ...fields }),
      },
    };
    const endpoint = findEndpoint(line.url);

    const recordEnd = (status: number, error?: ServiceError): void => {
      const durationMs = clock.monotonic() - startedAt;
      const operation = endpoint?.operation ?? 'unknown';
      const kind = error?.kind ?? 'none';
      const { region, workspace, keyId } = line.owner;
      const { deployment } = logFields;
      const baseFields = {
        requestId,
        operation,
        batch: line.batchId,
        status,
        kind,
        param: error?.param,
        region,
        workspace,
        keyId,
      };
      const allFields = { ...baseFields, durationMs: Math.round(durationMs * 10) / 10, ...logFields };
      if (error && status >= 500) log.error('request', { ...allFields, error });
      else log.info('request', allFields);
      const getCount = (name: string): number => (typeof logFields[name] === 'number' ? logFields[name] : 0);
      meter.recordRequest({
        operation,
        status,
        kind,
        durationMs,
        promptTokens: getCount('promptTokens'),
        cachedTokens: getCount('cachedTokens'),
        completionTokens: getCount('completionTokens'),
        ...(typeof deployment === 'string' ? { deployment: { region, workspace, name: deployment } } : {}),
      });
    };

    try {
      const answer = await callEndpoint(endpoint, line, context);
      recordEnd(answer.status);
      return { ...answer, requestId, error: undefined, retryAfterSeconds: undefined };
    } catch (thrown) {
      const error = ServiceError.from(thrown);
      const status = statusOf(error.kind);
      if (line.signal.aborted) {
        // This error reaches nobody: the line runs again later, or its batch has finished.
        recordEnd(status, new ServiceError('cancelled', 'The batch no longer waits for this line.'));
        throw line.signal.reason;
      }
      recordEnd(status, error);
      const { retryAfterSeconds } = error;
      const errorAnswer = {
        body: encodeErrorBody(error, requestId),
        headers: undefined,
        error: encodeCodeAndMessage(error),
      };
      return { status, requestId, ...errorAnswer, retryAfterSeconds };
    } finally {
      abort.unlink();
    }
  };
}

type EndpointAnswer = Pick<LineResponse, 'status' | 'body' | 'headers'>;
