import type { JobProgress, JobRecord } from '../core/job.ts';
import type { JobAttemptEnd, Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { JobStore } from '../store/jobs.ts';
import { failureText } from './failure-text.ts';
import type { JobStop } from './handler.ts';
import { createProgressTrack } from './progress-news.ts';

export interface JobLeaseNeeds {
  readonly jobs: Pick<JobStore, 'renew' | 'release' | 'end' | 'cancel'>;
  readonly leaseOwner: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** The store fails, and is asked again later. */
  readonly onTrouble: (error: unknown) => void;
}

/** A job that is this process's, for as long as the store says so. */
export interface JobLease {
  /** Aborts with a `JobStop`. */
  readonly signal: AbortSignal;
  stop(reason: JobStop): void;
  /** To be called from time to time: gives a sign of life where it is time for one, or where there is something to tell. */
  beat(): void;
  report(progress: JobProgress): void;
  /** How often it may fail from here on, this time included. */
  triesLeft(): number;
  /** Both try until it is written or the lease is over; they never reject. */
  end(state: 'done' | 'failed' | 'cancelled', error?: unknown): Promise<JobAttemptEnd>;
  /** @param wish `costs`: why it failed, which costs a try; `hasMoved`: it has all of its tries again. */
  release(wish: { afterMs: number; costs?: unknown; hasMoved?: boolean }): Promise<JobAttemptEnd>;
  /** It did not stop in time: it goes back as it is, and nothing more is written of this attempt. */
  abandon(): Promise<void>;
}

/** So many signs of life may fail, or come late by a whole one, before the lease is over. */
const SIGNS_OF_A_LEASE = 3;

/** The lease of a job that was just claimed. */
export function holdLease(job: JobRecord, needs: JobLeaseNeeds): JobLease {
  const { jobs, leaseOwner, leaseMs, clock, log, onTrouble } = needs;
  const { id, kind, subject, attempt } = job;
  const stopping = new AbortController();
  const track = createProgressTrack(job.progress);
  let { triesLeft } = job;
  let alive = { now: (job.dueAt ?? clock.now() + leaseMs) - leaseMs, monotonic: clock.monotonic() };
  let isOver = false;
  let writing: Promise<unknown> | undefined;
  let beaten = Promise.withResolvers<void>();

  /** By both clocks: one stands still while the machine sleeps, the other one can be set back. */
  const silentMs = (): number => Math.max(clock.now() - alive.now, clock.monotonic() - alive.monotonic);

  const stop = (reason: JobStop): void => stopping.abort(reason);
  const lose = (): void => {
    if (isOver) return;
    isOver = true;
    log.warn('a job went to another process', { job: id, kind, subject, attempt });
    stop('lost');
  };

  /** What comes back late must not tell of a lease that was given up meanwhile: others wait for it. */
  const write = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    const own = call();
    writing = own;
    try {
      return await own;
    } finally {
      writing = undefined;
    }
  };
  const written = async (): Promise<void> => {
    while (writing) await writing.catch(() => undefined);
  };

  const renew = async (): Promise<void> => {
    const at = { now: clock.now(), monotonic: clock.monotonic() };
    const news = track.take();
    try {
      const held = await write(() => jobs.renew(id, { leaseOwner, leaseUntil: at.now + leaseMs, ...news }));
      if (!held) return lose();
      alive = at;
      if (news.hasMoved) triesLeft = job.tries;
      if (held.isCancelled) stop('cancelled');
    } catch (error) {
      track.putBack(news);
      onTrouble(error);
      // Another process may have it by now, and two must not work at it.
      if (silentMs() > leaseMs) lose();
    }
  };

  /** @returns undefined where another process has it, or may have it. */
  const settle = async <Result>(call: () => Promise<Result | undefined>): Promise<Result | undefined> => {
    for (;;) {
      await written();
      if (isOver) return undefined;
      try {
        const result = await write(call);
        if (result === undefined) lose();
        isOver = true;
        return result;
      } catch (error) {
        onTrouble(error);
        await beaten.promise;
      }
    }
  };

  return {
    signal: stopping.signal,
    stop,
    beat() {
      beaten.resolve();
      beaten = Promise.withResolvers();
      if (isOver || writing) return;
      if (track.look().progress || silentMs() >= leaseMs / SIGNS_OF_A_LEASE) void renew();
    },
    report: (progress) => track.report(progress),
    triesLeft: () => (track.look().hasMoved ? job.tries : triesLeft),
    async end(state, error) {
      const text = error === undefined ? undefined : failureText(error);
      const result = await settle(async () => {
        const { progress } = track.look();
        const isWritten = await jobs.end(id, { leaseOwner, state, at: clock.now(), error: text, progress });
        return isWritten ? state : undefined;
      });
      return result ?? 'lost';
    },
    async release({ afterMs, costs, hasMoved = false }) {
      const error = costs === undefined ? undefined : failureText(costs);
      const result = await settle(() => {
        const news = track.look();
        const dueAt = clock.now() + afterMs;
        return jobs.release(id, { leaseOwner, dueAt, error, ...news, hasMoved: hasMoved || news.hasMoved });
      });
      // Cancelled a moment ago: nobody would look at it before it is due.
      const isNews = !job.isCancelled && stopping.signal.reason !== 'cancelled';
      if (result?.isCancelled && isNews) await jobs.cancel(id, clock.now()).catch(onTrouble);
      return result ? 'waiting' : 'lost';
    },
    async abandon() {
      await written();
      if (isOver) return;
      isOver = true;
      beaten.resolve();
      await jobs.release(id, { leaseOwner, dueAt: clock.now(), ...track.look() }).catch(onTrouble);
    },
  };
}
