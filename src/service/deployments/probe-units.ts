import { setTimeout as pause } from 'node:timers/promises';
import { DEPLOYMENT_PROBE_MS_MAX, DEPLOYMENT_START_MS_MAX } from './limits.ts';
import { ServiceError } from '../../core/error.ts';
import { NO_STOP } from '../../core/request.ts';
import type { EngineInput, TextEngine } from '../../engines/engine.ts';
import { createTimedAbort } from '../../lib/linked-abort.ts';

/** Result of one probe: undefined when the unit generated its token, else the error. */
export type ProbeResult = ServiceError | undefined;

/** Interval between checks whether an engine has started, in ms. */
const START_POLL_MS = 100;

/**
 * Makes all units generate one token at the same time, which proves that each has enough memory beside the others. Waits for
 * engines that are starting; does not retry engines that fail.
 */
export async function probeUnits(
  units: readonly TextEngine[],
  { workspace }: { readonly workspace: string },
  signal: AbortSignal,
): Promise<readonly ProbeResult[]> {
  await Promise.all([...new Set(units)].map((engine) => waitForStart(engine, signal)));
  const results = await Promise.allSettled(units.map((engine, unit) => probe(engine, `${workspace} ${unit}`, signal)));
  signal.throwIfAborted();
  return results.map((result) => (result.status === 'fulfilled' ? undefined : ServiceError.from(result.reason)));
}

/** Waits until the engine has started or failed. `model()` alone gives up before a large model has loaded. */
async function waitForStart(engine: TextEngine, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + DEPLOYMENT_START_MS_MAX;
  while (!signal.aborted && performance.now() < deadline) {
    const isSettled = await engine.loadModel().then(
      () => true,
      () => engine.state !== 'starting',
    );
    if (isSettled) return;
    await pause(START_POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function probe(engine: TextEngine, key: string, signal: AbortSignal): Promise<void> {
  const createTimeoutError = (): ServiceError =>
    new ServiceError('timeout', 'The unit generated no token within the time limit.');
  const limited = createTimedAbort(signal, DEPLOYMENT_PROBE_MS_MAX, createTimeoutError);
  try {
    const { batches } = await engine.start(
      {
        id: `probe ${key}`,
        // Queues are fair between keys. A key for each probe keeps them from waiting behind one another.
        owner: { workspace: '', key },
        input: createProbeInput(engine),
        sampling: {},
        stop: NO_STOP,
        choices: 1,
        maxTokens: 1,
        phases: [],
      },
      limited.signal,
    );
    let isComplete = false;
    for await (const batch of batches) isComplete ||= batch.some(({ type }) => type === 'end');
    if (!isComplete) throw new ServiceError('engine-failed', 'The answer of the unit ended without an end event.');
  } finally {
    limited.unlink();
  }
}

const createProbeInput = ({ capabilities }: TextEngine): EngineInput =>
  capabilities.input === 'prompt'
    ? { type: 'segments', segments: [{ text: 'Hello', special: false }] }
    : { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] };
