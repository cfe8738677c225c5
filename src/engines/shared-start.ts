import { QUEUE_LENGTH_MAX, QUEUE_WAIT_MS_MAX } from '../core/limits.ts';
import type { Clock } from '../lib/clock.ts';
import { startChoiceCalls, type ChoiceCall } from './choice-calls.ts';
import type { EngineRequest, EngineRun, TextEngine } from './engine.ts';
import { onIterationEnd } from '../lib/on-iteration-end.ts';
import { readAhead } from './read-ahead.ts';
import { createSequencePool, type SequencePool } from './sequence-pool.ts';

/** How workspaces share servers that cannot continue an interrupted answer. */
export interface SequenceShare {
  /** Answers that the servers run at once. */
  readonly sequences: number;
  /** Share of them that a workspace keeps while others wait, from 0 to 1. */
  readonly workspaceShare: number;
}

/** Starts a request at a server. `onClose` must be called when nothing more is read from its run. */
export type StartCall = (
  request: EngineRequest,
  options: { readonly signal: AbortSignal; readonly onClose?: () => void },
) => Promise<EngineRun>;

/** Starts a request when it has a sequence, which it keeps until its answer ends. @throws ServiceError as `acquire`. */
export type SharedStart = (request: EngineRequest, signal: AbortSignal, start: StartCall) => Promise<EngineRun>;

export function createSharedStart(
  { sequences, workspaceShare }: SequenceShare,
  clock: Pick<Clock, 'monotonic'>,
): SharedStart {
  const pool = createSequencePool({
    getTotal: () => sequences,
    workspaceShare,
    hasLiveReserve: true,
    queueLengthMax: QUEUE_LENGTH_MAX,
    queueWaitMsMax: QUEUE_WAIT_MS_MAX,
    clock,
  });
  return (request, signal, start) =>
    startChoiceCalls(request, { signal, start: (call, options) => runWithSequence(pool, call, { ...options, start }) });
}

/** Wraps the engine of one server, so that workspaces share its sequences. */
export function shareSequences(engine: TextEngine, share: SequenceShare, clock: Pick<Clock, 'monotonic'>): TextEngine {
  const startShared = createSharedStart(share, clock);
  return {
    ...engine,
    get capabilities() {
      return engine.capabilities;
    },
    get state() {
      return engine.state;
    },
    start: (request, signal) =>
      startShared(request, signal, async (call, { signal: callSignal, onClose = () => undefined }) => {
        const { batches, ...startInfo } = await engine.start(call, callSignal);
        return { ...startInfo, batches: onIterationEnd(batches, onClose) };
      }),
  };
}

async function runWithSequence(
  pool: SequencePool,
  request: EngineRequest,
  { signal, hasStarted, start }: ChoiceCall & { readonly start: StartCall },
): Promise<EngineRun> {
  const { owner } = request;
  const { release } = await pool.acquire({ owner, choices: 1, canInterrupt: () => false, hasStarted }, signal);
  signal.addEventListener('abort', release, { once: true });
  if (signal.aborted) release();
  try {
    const run = await start(request, { signal, onClose: release });
    return { ...run, batches: readAhead(run.batches) };
  } catch (error) {
    release();
    throw error;
  }
}
