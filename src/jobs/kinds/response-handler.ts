import { createRevokedKeyError } from './create-revoked-key-error.ts';
import type { RequestContext, RequestLog } from '../../core/context.ts';
import { ServiceError, type ErrorKind } from '../../core/error.ts';
import type { IdGenerator } from '../../core/id.ts';
import { BACKGROUND_RESPONSE_CONCURRENCY, BACKGROUND_RETRY_MS, BACKGROUND_WAIT_MS } from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { createLinkedAbort } from '../../lib/linked-abort.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Keys } from '../../resources/keys/key.ts';
import type { BackgroundResponses, PendingRun } from '../../resources/responses/background.ts';
import type { RunNotifier } from '../../resources/responses/run-notifier.ts';
import type { JobHandler, JobOutcome } from '../handler.ts';

export interface ResponseHandlerDeps {
  readonly background: Pick<BackgroundResponses, 'findPending' | 'fail' | 'cancelRun'>;
  readonly notifier: Pick<RunNotifier, 'subscribe'>;
  readonly keys: Pick<Keys, 'findActive'>;
  readonly clock: Clock;
  readonly ids: Pick<IdGenerator, 'createRequestId'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Time limit of a response in ms; a response that takes longer fails. */
  readonly deadlineMs: number;
  /** Generates and stores the response. Rejects if it was not completed. */
  answer(
    request: { readonly run: PendingRun; readonly attempt: number; readonly abort: (reason: ServiceError) => void },
    context: RequestContext,
  ): Promise<void>;
}

const DONE: JobOutcome = { type: 'done' };

/** Temporary errors: an interactive client would have to retry. */
const RETRYABLE_KINDS: ReadonlySet<ErrorKind> = new Set(['locked', 'overloaded', 'rate-limited', 'token-quota']);

/** Runs background responses: generates each as if its client waited, and only once. */
export function createResponseHandler(deps: ResponseHandlerDeps): JobHandler {
  const { background, notifier, keys, clock, ids, log, deadlineMs } = deps;

  const attempt = async (run: PendingRun, number: number, signal: AbortSignal): Promise<JobOutcome> => {
    const { id, owner, createdAt } = run;
    const requestId = ids.createRequestId();
    const logFields: Record<string, string | number | boolean | undefined> = {};
    const requestLog: RequestLog = {
      add: (more) => void Object.assign(logFields, more),
      warn: (message, more) => log.warn(message, { requestId, ...more }),
    };
    const startedAt = clock.monotonic();
    const logRun = (kind: string): void =>
      log.info('background response', {
        requestId,
        response: id,
        kind,
        region: owner.region,
        workspace: owner.workspace,
        keyId: owner.keyId,
        durationMs: Math.round(clock.monotonic() - startedAt),
        ...logFields,
      });
    const work = createLinkedAbort(signal);
    const stop = notifier.subscribe(id, (event) => {
      if (event === 'ended') work.abort(new ServiceError('cancelled', `Response '${id}' was cancelled.`));
    });
    const deadline = setTimeout(
      () => work.abort(new ServiceError('timeout', `The response took longer than ${deadlineMs / 1000} s.`)),
      deadlineMs,
    ).unref();
    try {
      const context = { requestId, owner, signal: work.signal, log: requestLog };
      await deps.answer({ run, attempt: number, abort: work.abort }, context);
      logRun('none');
      return DONE;
    } catch (thrown) {
      // The job was canceled, or another process continues it.
      if (signal.aborted) throw thrown;
      const reason: unknown = work.signal.reason;
      const error = ServiceError.from(work.signal.aborted ? reason : thrown);
      // The response was ended elsewhere, together with its job; the next poll notices.
      if (error.kind === 'cancelled' && !(await background.findPending(id))) {
        logRun(error.kind);
        return { type: 'rerun', delayMs: 0 };
      }
      const isEarly = clock.now() - createdAt < BACKGROUND_WAIT_MS;
      if (RETRYABLE_KINDS.has(error.kind) && isEarly && (await hasNoPartialAnswer(id)))
        return { type: 'rerun', delayMs: BACKGROUND_RETRY_MS };
      await background.fail(id, error, number);
      logRun(error.kind);
      return DONE;
    } finally {
      clearTimeout(deadline);
      stop();
      work.unlink();
    }
  };

  /** Returns whether no part of the response was sent yet. */
  const hasNoPartialAnswer = async (id: string): Promise<boolean> =>
    (await background.findPending(id))?.hasPartialAnswer === false;

  return {
    concurrency: BACKGROUND_RESPONSE_CONCURRENCY,
    async run({ job, signal }) {
      const run = await background.findPending(job.subject);
      if (!run) return DONE;
      if (run.hasPartialAnswer) {
        await background.fail(run.id, new ServiceError('engine-failed', PARTLY_SENT));
        return DONE;
      }
      if (!(await keys.findActive(run.owner.keyId))) {
        await background.fail(run.id, createRevokedKeyError());
        return DONE;
      }
      return attempt(run, job.attempt, signal);
    },
    giveUp: (job, error) => background.fail(job.subject, ServiceError.from(error)),
    cancel: (job) => background.cancelRun(job.subject),
  };
}

const PARTLY_SENT = 'The process died after sending a part of the response. Send the request again.';
