import type { RequestLog } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { ErrorKind } from '../../../core/error.ts';
import type { IdGenerator } from '../../../core/id.ts';
import type { JobRecord } from '../../../core/job.ts';
import {
  RESEARCH_RUN_CONCURRENCY,
  RESEARCH_RETRY_MS_MAX,
  RESEARCH_RETRY_MS_MIN,
  RESEARCH_REPORT_GRACE_MS,
  RESEARCH_WAIT_MS,
  RESEARCH_RUN_POLL_MS,
} from './limits.ts';
import type { ResearchPipeline, ResearchStep } from '../research.ts';
import type { Log } from '../../../core/telemetry.ts';
import type { Clock } from '../../../lib/clock.ts';
import { startInterval as systemStartInterval, type StartInterval } from '../../../lib/start-interval.ts';
import { createLinkedAbort } from '../../../lib/linked-abort.ts';
import type { ResearchAttempt, ResearchLifecycle } from '../runs/research-lifecycle.ts';
import { getResearchPhase, computeResearchUsage, type ResearchPhase } from '../runs/usage.ts';
import type { JobHandler, JobOutcome, JobContext } from '../../../jobs/handler.ts';
import { createResearchWatch } from './research-watch.ts';

export interface ResearchHandlerDeps {
  readonly lifecycle: ResearchLifecycle;
  readonly research: Pick<ResearchPipeline, 'run'>;
  /** Returns whether the API key is valid now. */
  readonly isKeyActive: (keyId: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly ids: Pick<IdGenerator, 'createRequestId'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Time budget of a run; the run fails RESEARCH_REPORT_GRACE_MS after it. */
  readonly budgetMinutes: number;
  readonly startInterval?: StartInterval;
}

const DONE: JobOutcome = { type: 'done' };

/** The run was ended elsewhere, together with its job; the next poll notices. */
const ENDED_ELSEWHERE: JobOutcome = { type: 'rerun', delayMs: 0 };

/** Temporary errors: an interactive client would have to retry. */
const RETRYABLE_KINDS: ReadonlySet<ErrorKind> = new Set(['overloaded', 'rate-limited', 'token-quota']);

/**
 * Runs deep research step by step: each step is stored before the next one starts, so that another process can resume.
 */
export function createResearchHandler(deps: ResearchHandlerDeps): JobHandler {
  const {
    lifecycle,
    research,
    isKeyActive,
    clock,
    ids,
    log,
    budgetMinutes,
    startInterval = systemStartInterval,
  } = deps;

  const logRun = (job: JobRecord, kind: string, steps: readonly ResearchStep[], fields: ResearchLogFields = {}): void =>
    log.info('deep research', {
      research: job.subject,
      kind,
      region: job.owner.region,
      workspace: job.owner.workspace,
      keyId: job.owner.keyId,
      attempt: job.attempt,
      durationMs: clock.now() - job.createdAt,
      ...computeResearchUsage(steps),
      ...fields,
    });

  const attempt = async ({ job, signal, report }: JobContext, run: ResearchAttempt): Promise<JobOutcome> => {
    const { request, owner, startedAt, pastSteps } = run;
    const requestId = ids.createRequestId();
    const fields: ResearchLogFields = { requestId, model: request.model };
    const requestLog: RequestLog = {
      add: (more) => void Object.assign(fields, more),
      warn: (message, more) => log.warn(message, { requestId, ...more }),
    };
    const stopping = createLinkedAbort(signal);
    const context = { requestId, owner, signal: stopping.signal, log: requestLog, startedAt };
    const watch = createResearchWatch({
      id: job.subject,
      keyId: owner.keyId,
      deadlineAt: startedAt + budgetMinutes * 60_000 + RESEARCH_REPORT_GRACE_MS,
      lifecycle,
      isKeyActive,
      clock,
      abort: stopping.abort,
    });
    const stopWatch = startInterval(RESEARCH_RUN_POLL_MS, () => void watch());
    const steps = [...pastSteps];
    let phase: ResearchPhase = pastSteps.map(getResearchPhase).findLast((each) => each !== undefined) ?? 'plan';
    let lastStepAt = clock.now();
    let rejections = 0;
    report({ done: steps.length, step: phase });

    /** Returns false if another attempt owns the run. */
    const storeStep = async (step: ResearchStep): Promise<boolean> => {
      const number = steps.length;
      const isLast = step.events.some(({ type }) => type === 'end');
      if (!(await lifecycle.append(job.subject, { attempt: job.attempt, number, step, isLast }))) return false;
      phase = getResearchPhase(step) ?? phase;
      // First reports the number before, so that even the only step of a phase counts as progress.
      report({ done: number, step: phase });
      steps.push(step);
      report({ done: steps.length, step: phase });
      lastStepAt = clock.now();
      rejections = 0;
      return true;
    };

    /** Runs steps until the last one, or until one fails. Rejects if a step cannot be stored. */
    const advance = async (): Promise<{ readonly failure: unknown } | 'done' | 'lost'> => {
      const source = research.run(request, [...steps], context);
      try {
        for (;;) {
          const next = await source.next().catch((failure: unknown) => ({ failure }));
          if ('failure' in next) return next;
          if (next.done === true) return { failure: new ServiceError('internal', REPORT_MISSING) };
          const stored = await storeStep(next.value).catch(returnTooLarge);
          if (stored !== true) return stored === false ? 'lost' : stored;
          if (next.value.events.some(({ type }) => type === 'end')) return 'done';
          if (stopping.signal.aborted) return { failure: stopping.signal.reason };
        }
      } finally {
        await source.return().catch(() => undefined);
      }
    };

    /** Returns the delay in ms before the rejected step is retried; 0: no retry. */
    const computeDelayMs = ({ kind, retryAfterSeconds = 0 }: ServiceError): number => {
      if (!RETRYABLE_KINDS.has(kind) || stopping.signal.aborted) return 0;
      const backoffMs = Math.min(RESEARCH_RETRY_MS_MIN * 2 ** rejections, RESEARCH_RETRY_MS_MAX);
      rejections += 1;
      const delayMs = Math.max(backoffMs, retryAfterSeconds * 1000);
      return clock.now() + delayMs - lastStepAt > RESEARCH_WAIT_MS ? 0 : delayMs;
    };

    try {
      await watch();
      for (;;) {
        const end = stopping.signal.aborted ? { failure: stopping.signal.reason } : await advance();
        if (end === 'done') {
          logRun(job, 'none', steps, fields);
          return DONE;
        }
        // The job was canceled, or another process continues it.
        signal.throwIfAborted();
        if (end === 'lost') {
          if ((await lifecycle.getStatus(job.subject)) === 'ended') return ENDED_ELSEWHERE;
          throw new Error('another process owns this research run');
        }
        const error = ServiceError.from(stopping.signal.aborted ? stopping.signal.reason : end.failure);
        if (error.kind === 'cancelled' && (await lifecycle.getStatus(job.subject)) === 'ended') return ENDED_ELSEWHERE;
        const delayMs = computeDelayMs(error);
        if (delayMs > 0) {
          await waitUnlessAborted(delayMs, startInterval, stopping.signal);
          continue;
        }
        await lifecycle.fail(job.subject, error, job.attempt);
        logRun(job, error.kind, steps, fields);
        return DONE;
      }
    } finally {
      stopWatch();
      stopping.unlink();
    }
  };

  return {
    concurrency: RESEARCH_RUN_CONCURRENCY,
    async run(jobRun) {
      const { job } = jobRun;
      const run = await lifecycle.startAttempt(job.subject, job.attempt);
      return run ? await attempt(jobRun, run) : DONE;
    },
    async giveUp(job, cause) {
      await lifecycle.fail(job.subject, new ServiceError('engine-failed', GIVEN_UP, { cause }));
      logRun(job, 'engine-failed', await lifecycle.readSteps(job.subject));
    },
    async cancel(job) {
      await lifecycle.cancel(job.subject);
      logRun(job, 'cancelled', await lifecycle.readSteps(job.subject));
    },
  };
}

type ResearchLogFields = Record<string, string | number | boolean | undefined>;

const REPORT_MISSING = 'The research ended without a complete report.';
const GIVEN_UP =
  'The research was given up: every attempt died in the same step, or could not store its result. ' +
  'Send the request again.';

/** Returns a too-large failure of the step; throws other store errors, because a retry may succeed. */
function returnTooLarge(error: unknown): { readonly failure: ServiceError } {
  if (error instanceof ServiceError && error.kind === 'too-large') return { failure: error };
  throw error;
}

/** Resolves early when the signal aborts. */
function waitUnlessAborted(ms: number, startInterval: StartInterval, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stop();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const stop = startInterval(ms, end);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
