import type { RequestContext, RequestLog } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { ErrorKind } from '../../core/error.ts';
import type { Ids } from '../../core/id.ts';
import { BACKGROUND_AT_ONCE, BACKGROUND_RETRY_MS, BACKGROUND_WAIT_MS } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Keys } from '../../resources/keys/key.ts';
import type { BackgroundResponses, WaitingRun } from '../../resources/responses/background.ts';
import type { RunBell } from '../../resources/responses/run-bell.ts';
import type { JobHandler, JobOutcome } from '../handler.ts';

export interface ResponseJobNeeds {
  readonly background: Pick<BackgroundResponses, 'findWaiting' | 'fail' | 'cancelWaiting'>;
  readonly bell: Pick<RunBell, 'listen'>;
  readonly keys: Pick<Keys, 'findActive'>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'request'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** How long an answer may take, in ms. Beyond: it fails. */
  readonly deadlineMs: number;
  /** Makes the answer and keeps it, as its interface does. Rejects where it did not come to its end. */
  answer(
    wish: { readonly run: WaitingRun; readonly attempt: number; readonly abort: (reason: ServiceError) => void },
    context: RequestContext,
  ): Promise<void>;
}

const DONE: JobOutcome = { type: 'done' };

/** Why a live request would be told to come again. */
const WAITS: ReadonlySet<ErrorKind> = new Set(['locked', 'overloaded', 'rate-limited', 'token-quota']);

/** A response whose caller does not wait: its answer is made as if it did, and once. */
export function responseJob(needs: ResponseJobNeeds): JobHandler {
  const { background, bell, keys, clock, ids, log, deadlineMs } = needs;

  const attempt = async (run: WaitingRun, number: number, signal: AbortSignal): Promise<JobOutcome> => {
    const { id, owner, createdAt } = run;
    const requestId = ids.request();
    const facts: Record<string, string | number | boolean | undefined> = {};
    const requestLog: RequestLog = {
      add: (more) => void Object.assign(facts, more),
      warn: (message, more) => log.warn(message, { requestId, ...more }),
    };
    const startedAt = clock.monotonic();
    const written = (kind: string): void =>
      log.info('background response', {
        requestId,
        response: id,
        kind,
        region: owner.region,
        workspace: owner.workspace,
        keyId: owner.keyId,
        durationMs: Math.round(clock.monotonic() - startedAt),
        ...facts,
      });
    const work = linkedAbort(signal);
    const stop = bell.listen(id, (news) => {
      if (news === 'ended') work.abort(new ServiceError('cancelled', `Response '${id}' was ended.`));
    });
    const deadline = setTimeout(
      () => work.abort(new ServiceError('timeout', `It ran longer than ${deadlineMs / 1000} s.`)),
      deadlineMs,
    ).unref();
    try {
      const context = { requestId, owner, signal: work.signal, log: requestLog };
      await needs.answer({ run, attempt: number, abort: work.abort }, context);
      written('none');
      return DONE;
    } catch (thrown) {
      // Its job ends it, or another process goes on with it.
      if (signal.aborted) throw thrown;
      const reason: unknown = work.signal.reason;
      const error = ServiceError.from(work.signal.aborted ? reason : thrown);
      // Whoever ended it has cancelled its job, or removed it: that is seen with the next look.
      if (error.kind === 'cancelled' && !(await background.findWaiting(id))) {
        written(error.kind);
        return { type: 'again', afterMs: 0 };
      }
      const isEarly = clock.now() - createdAt < BACKGROUND_WAIT_MS;
      if (WAITS.has(error.kind) && isEarly && (await isWaiting(id)))
        return { type: 'again', afterMs: BACKGROUND_RETRY_MS };
      await background.fail(id, error, number);
      written(error.kind);
      return DONE;
    } finally {
      clearTimeout(deadline);
      stop();
      work.unlink();
    }
  };

  /** Nothing of an answer was told. */
  const isWaiting = async (id: string): Promise<boolean> => (await background.findWaiting(id))?.isBroken === false;

  return {
    atOnce: BACKGROUND_AT_ONCE,
    async run({ job, signal }) {
      const run = await background.findWaiting(job.subject);
      if (!run) return DONE;
      if (run.isBroken) {
        await background.fail(run.id, new ServiceError('engine-failed', BROKEN));
        return DONE;
      }
      if (!(await keys.findActive(run.owner.keyId))) {
        await background.fail(run.id, new ServiceError('unauthenticated', 'The key that asked is not valid any more.'));
        return DONE;
      }
      return attempt(run, job.attempt, signal);
    },
    giveUp: (job, error) => background.fail(job.subject, ServiceError.from(error)),
    cancel: (job) => background.cancelWaiting(job.subject),
  };
}

const BROKEN = 'The process that made this answer ended, and a part of the answer had been told.';
