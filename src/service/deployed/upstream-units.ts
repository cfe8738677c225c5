import type { ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import { DEPLOYMENT_SERVERS_MOMENT_MS } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createPool } from '../../engines/pool/pool.ts';
import type { PoolMember } from '../../engines/pool/pool.ts';
import type { Clock } from '../../lib/clock.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import { createServerMembers } from '../server-engines.ts';
import type { OpenedUnits, UnitsWish } from './opened-units.ts';
import { probeUnits } from './probe-units.ts';
import type { ProbeResult } from './probe-units.ts';

export interface UpstreamNeeds {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
}

/**
 * As many of a model's addresses as units are wanted, those first that answer now. What is behind them is not ours: other
 * deployments and the model itself may use the same ones.
 */
export async function openUpstreamUnits(
  { name, entry, units: wanted }: UnitsWish,
  runs: Extract<ModelEntry['runs'], { readonly type: 'upstream' }>,
  { environment, log, clock }: UpstreamNeeds,
  signal: AbortSignal,
): Promise<OpenedUnits> {
  const all = await createServerMembers(entry, runs, { environment, log });
  const engines = all.map(({ engine }) => engine);
  const close = async (members: readonly PoolMember[]): Promise<void> => {
    await Promise.all(members.map(({ engine }) => engine.close()));
  };
  try {
    const results = await whoAnswers(engines, { name, wanted }, signal);
    const healthy = all.filter((_, at) => results[at] === undefined);
    if (healthy.length === 0) throw new ServiceError('overloaded', `No server answers: ${results[0]?.message ?? ''}`);
    const used = healthy.slice(0, wanted);
    await close(all.filter((member) => !used.includes(member)));
    const pool = createPool({ members: used, log, clock });
    const isMissing = used.length < wanted;
    const reason = `${healthy.length} of ${all.length} servers answer; one server is one unit.`;
    return {
      engine: pool,
      units: used.map(({ engine }) => engine),
      isUp: (unit) => isUsable(pool.describe()[used.findIndex(({ engine }) => engine === unit)]?.state),
      ...(isMissing ? { reason } : {}),
      reach: { type: 'servers', addresses: used.map(({ address }) => address) },
      processes: [],
      close: () => pool.close(),
    };
  } catch (error) {
    await close(all);
    throw error;
  }
}

/** Why each does not answer. When enough do, the others have a moment left: one that is silent is not to be waited for. */
async function whoAnswers(
  engines: readonly TextEngine[],
  { name, wanted }: { readonly name: string; readonly wanted: number },
  signal: AbortSignal,
): Promise<readonly ProbeResult[]> {
  const asking = linkedAbort(signal);
  const late = (): void => asking.abort(new ServiceError('timeout', 'It did not answer when others did.'));
  let timer: NodeJS.Timeout | undefined;
  let answered = 0;
  const ask = async (engine: TextEngine): Promise<ProbeResult> => {
    const [failure] = await probeUnits([engine], { workspace: name }, asking.signal);
    if (!failure && ++answered === wanted) timer = setTimeout(late, DEPLOYMENT_SERVERS_MOMENT_MS);
    return failure;
  };
  try {
    const results = await Promise.all(engines.map((engine) => ask(engine).catch(ServiceError.from)));
    signal.throwIfAborted();
    return results;
  } finally {
    clearTimeout(timer);
    asking.unlink();
  }
}

/** One that has too much to do is there; one that has to show that it is well again is not. */
const isUsable = (state: 'ready' | 'suspect' | 'busy' | 'down' | 'trial' | undefined): boolean =>
  state === 'ready' || state === 'suspect' || state === 'busy';
