import type { RequestLog } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { ErrorKind } from '../../core/error.ts';
import type { Ids } from '../../core/id.ts';
import type { JobRecord } from '../../core/job.ts';
import {
  RESEARCH_AT_ONCE,
  RESEARCH_RETRY_MS_MAX,
  RESEARCH_RETRY_MS_MIN,
  RESEARCH_SLACK_MS,
  RESEARCH_WAIT_MS,
  RESEARCH_WATCH_MS,
} from '../../core/limits.ts';
import type { Research, ResearchStep } from '../../core/research.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery, type Every } from '../../lib/every.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import type { BegunResearch, ResearchWork } from '../../resources/research/research-work.ts';
import { phaseOf, spentOf, type ResearchPhase } from '../../resources/research/spent.ts';
import type { JobHandler, JobOutcome, JobRun } from '../handler.ts';
import { watchResearch } from './research-watch.ts';

export interface ResearchJobNeeds {
  readonly work: ResearchWork;
  readonly research: Pick<Research, 'run'>;
  /** By its id, as it is now. */
  readonly isKeyActive: (keyId: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'request'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Of a run's budget; RESEARCH_SLACK_MS beyond them it fails. */
  readonly minutes: number;
  readonly every?: Every;
}

const DONE: JobOutcome = { type: 'done' };

/** Who ended the run has cancelled its job as well, or removed it: that is seen with the next look. */
const ENDED_ELSEWHERE: JobOutcome = { type: 'again', afterMs: 0 };

/** Why a live request would be told to come again. */
const WAITS: ReadonlySet<ErrorKind> = new Set(['overloaded', 'rate-limited', 'token-quota']);

/** A run of deep research, step by step: each is kept before the next begins, so that another process goes on behind it. */
export function researchJob(needs: ResearchJobNeeds): JobHandler {
  const { work, research, isKeyActive, clock, ids, log, minutes, every = systemEvery } = needs;

  const write = (job: JobRecord, kind: string, steps: readonly ResearchStep[], facts: Facts = {}): void =>
    log.info('deep research', {
      research: job.subject,
      kind,
      region: job.owner.region,
      workspace: job.owner.workspace,
      keyId: job.owner.keyId,
      attempt: job.attempt,
      durationMs: clock.now() - job.createdAt,
      ...spentOf(steps),
      ...facts,
    });

  const attempt = async ({ job, signal, report }: JobRun, run: BegunResearch): Promise<JobOutcome> => {
    const { request, owner, startedAt, past } = run;
    const requestId = ids.request();
    const facts: Facts = { requestId, model: request.model };
    const requestLog: RequestLog = {
      add: (more) => void Object.assign(facts, more),
      warn: (message, more) => log.warn(message, { requestId, ...more }),
    };
    const stopping = linkedAbort(signal);
    const context = { requestId, owner, signal: stopping.signal, log: requestLog, startedAt };
    const watch = watchResearch({
      id: job.subject,
      keyId: owner.keyId,
      deadlineAt: startedAt + minutes * 60_000 + RESEARCH_SLACK_MS,
      work,
      isKeyActive,
      clock,
      abort: stopping.abort,
    });
    const stopWatch = every(RESEARCH_WATCH_MS, () => void watch());
    const steps = [...past];
    let phase: ResearchPhase = past.map(phaseOf).findLast((each) => each !== undefined) ?? 'plan';
    let movedAt = clock.now();
    let refusals = 0;
    report({ done: steps.length, step: phase });

    /** False where it is another one's by now. */
    const keep = async (step: ResearchStep): Promise<boolean> => {
      const number = steps.length;
      const isLast = step.tell.some(({ type }) => type === 'end');
      if (!(await work.append(job.subject, { attempt: job.attempt, number, step, isLast }))) return false;
      phase = phaseOf(step) ?? phase;
      // From the number before, so that also the only step of a phase moves the job on.
      report({ done: number, step: phase });
      steps.push(step);
      report({ done: steps.length, step: phase });
      movedAt = clock.now();
      refusals = 0;
      return true;
    };

    /** Takes steps until the last one, or until one fails: then it says why. What cannot be kept rejects. */
    const advance = async (): Promise<{ readonly failure: unknown } | 'done' | 'lost'> => {
      const source = research.run(request, [...steps], context);
      try {
        for (;;) {
          const next = await source.next().catch((failure: unknown) => ({ failure }));
          if ('failure' in next) return next;
          if (next.done === true) return { failure: new ServiceError('internal', ENDED_EARLY) };
          const kept = await keep(next.value).catch(onlyTooLarge);
          if (kept !== true) return kept === false ? 'lost' : kept;
          if (next.value.tell.some(({ type }) => type === 'end')) return 'done';
          if (stopping.signal.aborted) return { failure: stopping.signal.reason };
        }
      } finally {
        await source.return().catch(() => undefined);
      }
    };

    /** Until the next try at a step that was refused for now; 0: it is not tried again. */
    const pauseAfter = ({ kind, retryAfterSeconds = 0 }: ServiceError): number => {
      if (!WAITS.has(kind) || stopping.signal.aborted) return 0;
      const pauseMs = Math.min(RESEARCH_RETRY_MS_MIN * 2 ** refusals, RESEARCH_RETRY_MS_MAX);
      refusals += 1;
      const afterMs = Math.max(pauseMs, retryAfterSeconds * 1000);
      return clock.now() + afterMs - movedAt > RESEARCH_WAIT_MS ? 0 : afterMs;
    };

    try {
      await watch();
      for (;;) {
        const end = stopping.signal.aborted ? { failure: stopping.signal.reason } : await advance();
        if (end === 'done') {
          write(job, 'none', steps, facts);
          return DONE;
        }
        // Its job ends it, or another process goes on with it.
        signal.throwIfAborted();
        if (end === 'lost') {
          if ((await work.standingOf(job.subject)) === 'ended') return ENDED_ELSEWHERE;
          throw new Error('another process works at this research');
        }
        const error = ServiceError.from(stopping.signal.aborted ? stopping.signal.reason : end.failure);
        if (error.kind === 'cancelled' && (await work.standingOf(job.subject)) === 'ended') return ENDED_ELSEWHERE;
        const afterMs = pauseAfter(error);
        if (afterMs > 0) {
          await pause(afterMs, every, stopping.signal);
          continue;
        }
        await work.fail(job.subject, error, job.attempt);
        write(job, error.kind, steps, facts);
        return DONE;
      }
    } finally {
      stopWatch();
      stopping.unlink();
    }
  };

  return {
    atOnce: RESEARCH_AT_ONCE,
    async run(jobRun) {
      const { job } = jobRun;
      const run = await work.begin(job.subject, job.attempt);
      return run ? await attempt(jobRun, run) : DONE;
    },
    async giveUp(job, cause) {
      await work.fail(job.subject, new ServiceError('engine-failed', GIVEN_UP, { cause }));
      write(job, 'engine-failed', await work.stepsOf(job.subject));
    },
    async cancel(job) {
      await work.cancel(job.subject);
      write(job, 'cancelled', await work.stepsOf(job.subject));
    },
  };
}

type Facts = Record<string, string | number | boolean | undefined>;

const ENDED_EARLY = 'The research ended before its report did.';
const GIVEN_UP = 'Each process that worked at this research ended in the same step, or could not keep what it did.';

/** That one is the step's; what else goes wrong with the store may go well the next time. */
function onlyTooLarge(error: unknown): { readonly failure: ServiceError } {
  if (error instanceof ServiceError && error.kind === 'too-large') return { failure: error };
  throw error;
}

/** Ends early when the signal aborts. */
function pause(ms: number, every: Every, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stop();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const stop = every(ms, end);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
