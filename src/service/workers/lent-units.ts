import { heldEngine } from '../../engines/sharing/shared-engine.ts';
import type { HostFunctions } from '../../engines/sharing/protocol.ts';
import type { Clock } from '../../lib/clock.ts';
import type { MessageCalls } from '../../lib/message-calls.ts';
import type { HeldUnits } from '../model-engines.ts';
import type { DeployedFunctions } from './protocol.ts';

/** What serves of a deployment, as the primary keeps it; undefined where nothing does. */
export async function holdLentUnits(
  id: string,
  host: Pick<MessageCalls<DeployedFunctions & HostFunctions>, 'ask'>,
  clock: Pick<Clock, 'monotonic'>,
): Promise<HeldUnits | undefined> {
  const lent = await host.ask('deployed.open', id);
  if (!lent) return undefined;
  const { loan, held, units } = lent;
  return {
    units,
    processes: held.map((each) => (parse) => heldEngine(each, { host, parse, clock })),
    // Where the primary has gone, nothing is held any more.
    release: () => host.ask('deployed.release', { loan }).catch(() => undefined),
  };
}
