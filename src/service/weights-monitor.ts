import type { Log, WeightsCheckOutcome } from '../core/telemetry.ts';
import type { Weights } from '../core/weights.ts';
import type { StartGuard } from '../engines/start-guard.ts';
import type { StartTimer } from '../lib/lifecycle.ts';
import type { WeightsStore } from '../weights/weights-store.ts';
import { createDamagedWeightsError, createMissingWeightsError, createMovedWeightsError } from './model-errors.ts';

export interface WeightsMonitorDeps {
  readonly weights: Pick<WeightsStore, 'inspect' | 'verify'>;
  readonly log: Log;
  /** Returns the SHA-256 of a file without slowing this process down. */
  readonly hash: (path: string, signal: AbortSignal) => Promise<string>;
  readonly onChecked: (outcome: WeightsCheckOutcome) => void;
  /** Time from the first use of weights to their check, in ms. */
  readonly delayMs: number;
  readonly startTimer?: StartTimer;
}

/** Checks the weights that engines load: quickly before each start, and completely in the background. */
export interface WeightsMonitor {
  /** Creates the guard of a process that loads the weights at the path. The model names it in errors. */
  createGuard(weights: Weights, options: { readonly model: string; readonly path: string }): StartGuard;
  /** Returns a sentence about a file without a known hash that changed unnoticed. */
  getWarning(weightsId: string): string | undefined;
  /** Stops a check in progress; further ones do not start. */
  close(): Promise<void>;
}

export function createWeightsMonitor({
  weights: store,
  log,
  hash,
  onChecked,
  delayMs,
  startTimer = startQuietTimer,
}: WeightsMonitorDeps): WeightsMonitor {
  const closing = new AbortController();
  /** Ids of weights whose check waits or runs. */
  const pending = new Set<string>();
  const warnings = new Map<string, string>();
  const listeners = new Map<string, Set<() => void>>();
  const timers = new Set<() => void>();
  let lastCheck: Promise<void> = Promise.resolve();

  const verify = async (weights: Weights): Promise<void> => {
    if (closing.signal.aborted) return;
    const startedAt = performance.now();
    const result = await store.verify(weights, (path) => hash(path, closing.signal));
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    onChecked(result.outcome);
    switch (result.outcome) {
      case 'intact':
        return log.info('weights verified completely', { weights: weights.id, seconds });
      case 'skipped':
        return;
      case 'changed':
        warnings.set(weights.id, `the model file ${result.path} changed without a change of its size and time`);
        return log.warn('weights changed without a change of their size and time', {
          weights: weights.id,
          path: result.path,
        });
      case 'damaged':
        log.error('weights damaged: the model is stopped', { weights: weights.id, ...result.refusal });
        for (const notify of listeners.get(weights.id) ?? []) notify();
    }
  };

  const check = (weights: Weights): Promise<void> =>
    verify(weights).catch((error: unknown) => {
      if (closing.signal.aborted) return;
      onChecked('failed');
      log.error('weights could not be verified', { weights: weights.id, error });
    });

  /** Checks weights some time after the start of an engine; starts until then share the check. */
  const schedule = (weights: Weights): void => {
    if (pending.has(weights.id) || closing.signal.aborted) return;
    pending.add(weights.id);
    const stop = startTimer(delayMs, () => {
      timers.delete(stop);
      // One after the other: two would only compete for the disk.
      lastCheck = lastCheck.then(() => check(weights)).finally(() => pending.delete(weights.id));
    });
    timers.add(stop);
  };

  return {
    createGuard: (weights, { model, path }) => ({
      async check() {
        const status = await store.inspect(weights);
        if (status.state === 'missing') throw createMissingWeightsError(model);
        if (status.state === 'refused') throw createDamagedWeightsError(model, status);
        if (status.path !== path) throw createMovedWeightsError(model, status.path);
        schedule(weights);
      },
      onRevoked(listener) {
        const all = listeners.get(weights.id) ?? new Set();
        listeners.set(weights.id, all.add(listener));
        return () => void all.delete(listener);
      },
    }),
    getWarning: (id) => warnings.get(id),
    async close() {
      closing.abort();
      for (const stop of timers) stop();
      await lastCheck;
    },
  };
}

/** Starts a timer that does not keep the process alive. */
const startQuietTimer: StartTimer = (ms, run) => {
  const timer = setTimeout(run, ms).unref();
  return () => clearTimeout(timer);
};
