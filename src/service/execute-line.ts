import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { Ids } from '../core/id.ts';
import type { Log, Meter } from '../core/telemetry.ts';
import { unlessAborted } from '../engines/unless-aborted.ts';
import { checkRegion } from '../http/authenticate.ts';
import type { ExecuteLine, LineAnswer, LineWish } from '../jobs/kinds/batch/execute-line.ts';
import type { Clock } from '../lib/clock.ts';
import { linkedAbort } from '../lib/linked-abort.ts';
import { codeAndMessage, errorBody, status as statusOf } from '../protocols/compatible/errors.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import type { Keys } from '../resources/keys/key.ts';

export interface ExecuteLineNeeds {
  /** Those that requests are answered by. */
  readonly endpoints: readonly Endpoint[];
  readonly keys: Pick<Keys, 'findActive'>;
  readonly limits: { readonly bodyBytesMax: number; readonly deadlineStreamMs: number };
  readonly ids: Pick<Ids, 'request'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Pick<Meter, 'requestEnded'>;
}

/** What a line of a batch is answered: as the same request is over HTTP, in the background. Batches know compatible endpoints only. */
export function createExecuteLine({ endpoints, keys, limits, ids, clock, log, meter }: ExecuteLineNeeds): ExecuteLine {
  const find = (url: string): Endpoint | undefined =>
    endpoints.find(({ method, path }) => method === 'POST' && path === `/compatible-mode${url}`);

  const ask = async (endpoint: Endpoint | undefined, wish: LineWish, context: RequestContext): Promise<Answered> => {
    const { owner, url, sizeBytes, body } = wish;
    if (!(await keys.findActive(owner.keyId))) throw new ServiceError('unauthenticated', '');
    if (!endpoint) throw new ServiceError('not-found', `${url} is not served.`);
    checkRegion(`POST ${url}`, endpoint.regions, owner.region);
    if (sizeBytes > limits.bodyBytesMax) {
      throw new ServiceError('too-large', `The body may have at most ${limits.bodyBytesMax} bytes.`);
    }
    const asked = { body, params: {}, query: new URLSearchParams(), headers: {} };
    const reply = await unlessAborted(endpoint.handle(asked, context), context.signal);
    if (reply.type !== 'json') throw new ServiceError('unsupported', 'A line of a batch is answered with JSON only.');
    const { status, body: said, headers = {} } = reply;
    return { status, body: said, headers: Object.keys(headers).length > 0 ? headers : undefined };
  };

  return async (wish) => {
    const requestId = ids.request();
    const startedAt = clock.monotonic();
    const facts: Record<string, string | number | boolean | undefined> = {};
    const work = linkedAbort(wish.signal);
    // It may wait behind all that is live, and be set aside for it, for far longer than anybody would wait.
    const { deadlineStreamMs } = limits;
    const late = (): void =>
      work.abort(new ServiceError('timeout', `It ran longer than ${deadlineStreamMs / 1000} s.`));
    const deadline = setTimeout(late, deadlineStreamMs);
    const context: RequestContext = {
      requestId,
      owner: wish.owner,
      priority: 'background',
      signal: work.signal,
      log: {
        add: (more) => void Object.assign(facts, more),
        warn: (message, more) => log.warn(message, { requestId, ...more }),
      },
    };
    const endpoint = find(wish.url);

    const end = (status: number, error?: ServiceError): void => {
      const durationMs = clock.monotonic() - startedAt;
      const operation = endpoint?.operation ?? 'unknown';
      const kind = error?.kind ?? 'none';
      const { region, workspace, keyId } = wish.owner;
      const { deployment } = facts;
      const line = {
        requestId,
        operation,
        batch: wish.batch,
        status,
        kind,
        param: error?.param,
        region,
        workspace,
        keyId,
      };
      const written = { ...line, durationMs: Math.round(durationMs * 10) / 10, ...facts };
      if (error && status >= 500) log.error('request', { ...written, error });
      else log.info('request', written);
      const count = (name: string): number => (typeof facts[name] === 'number' ? facts[name] : 0);
      meter.requestEnded({
        operation,
        status,
        kind,
        durationMs,
        promptTokens: count('promptTokens'),
        cachedTokens: count('cachedTokens'),
        completionTokens: count('completionTokens'),
        ...(typeof deployment === 'string' ? { deployment: { region, workspace, name: deployment } } : {}),
      });
    };

    try {
      const answered = await ask(endpoint, wish, context);
      end(answered.status);
      return { ...answered, requestId, error: undefined, retryAfterSeconds: undefined };
    } catch (thrown) {
      const error = ServiceError.from(thrown);
      const status = statusOf(error.kind);
      if (wish.signal.aborted) {
        // Nobody is told of it: the line is run again, or its batch has ended.
        end(status, new ServiceError('cancelled', 'The batch does not wait for it any more.'));
        throw wish.signal.reason;
      }
      end(status, error);
      const { retryAfterSeconds } = error;
      const told = { body: errorBody(error, requestId), headers: undefined, error: codeAndMessage(error) };
      return { status, requestId, ...told, retryAfterSeconds };
    } finally {
      clearTimeout(deadline);
      work.unlink();
    }
  };
}

type Answered = Pick<LineAnswer, 'status' | 'body' | 'headers'>;
