import { setTimeout as pause } from 'node:timers/promises';
import { DEPLOYMENT_PROBE_MS_MAX, DEPLOYMENT_START_MS_MAX } from '../../core/limits.ts';
import { ServiceError } from '../../core/error.ts';
import { NO_STOP } from '../../core/request.ts';
import type { EngineInput, TextEngine } from '../../engines/engine.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';

/** How a unit did: undefined where it gave its token. */
export type ProbeResult = ServiceError | undefined;

/** Ms between two looks at whether an engine has started. */
const LOOK_MS = 100;

/**
 * Has every unit make one token, all at the same time: a unit that answers then has what it needs beside all others.
 * Engines that are starting are waited for, those that fail are not.
 */
export async function probeUnits(
  units: readonly TextEngine[],
  { workspace }: { readonly workspace: string },
  signal: AbortSignal,
): Promise<readonly ProbeResult[]> {
  await Promise.all([...new Set(units)].map((engine) => startOf(engine, signal)));
  const results = await Promise.allSettled(units.map((engine, unit) => probe(engine, `${workspace} ${unit}`, signal)));
  signal.throwIfAborted();
  return results.map((result) => (result.status === 'fulfilled' ? undefined : ServiceError.from(result.reason)));
}

/** Until it is known whether it starts: callers of an engine wait less than a large one may take. */
async function startOf(engine: TextEngine, signal: AbortSignal): Promise<void> {
  const until = performance.now() + DEPLOYMENT_START_MS_MAX;
  while (!signal.aborted && performance.now() < until) {
    const isOver = await engine.model().then(
      () => true,
      () => engine.state !== 'starting',
    );
    if (isOver) return;
    await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function probe(engine: TextEngine, key: string, signal: AbortSignal): Promise<void> {
  const limited = linkedAbort(signal);
  const late = (): void => limited.abort(new ServiceError('timeout', 'It gave no token in time.'));
  const timer = setTimeout(late, DEPLOYMENT_PROBE_MS_MAX);
  try {
    const { batches } = await engine.start(
      {
        id: `probe ${key}`,
        // Queues are fair between keys, and each of these is one of its own: no share of a key is used up.
        owner: { workspace: '', key },
        input: inputOf(engine),
        sampling: {},
        stop: NO_STOP,
        choices: 1,
        maxTokens: 1,
        phases: [],
      },
      limited.signal,
    );
    let hasEnded = false;
    for await (const batch of batches) hasEnded ||= batch.some(({ type }) => type === 'end');
    if (!hasEnded) throw new ServiceError('engine-failed', 'Its answer broke off.');
  } finally {
    clearTimeout(timer);
    limited.unlink();
  }
}

const inputOf = ({ capabilities }: TextEngine): EngineInput =>
  capabilities.input === 'prompt'
    ? { type: 'segments', segments: [{ text: 'Hello', special: false }] }
    : { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] };
