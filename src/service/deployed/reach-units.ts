import type { ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { ProgramUp } from '../../engines/command/command-server.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createLlamaEngine } from '../../engines/llama/llama-engine.ts';
import type { LlamaUp } from '../../engines/llama/protocol.ts';
import { createPool } from '../../engines/pool/pool.ts';
import type { Supervised } from '../../engines/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { createProgramEngine, createServerMembers } from '../server-engines.ts';
import type { ProgramNeeds } from '../server-engines.ts';
import type { Reach } from './opened-units.ts';
import { openScriptedUnits } from './scripted-units.ts';

/** Units that another process of ours has opened. Plain JSON. */
export interface LentUnits {
  /** Of the deployment. */
  readonly name: string;
  readonly entry: ModelEntry;
  readonly units: number;
  readonly reach: Reach;
}

/** A process that another one of ours keeps, by its ready values. */
export type ReachedProcess = <Ready>(parse: (value: unknown) => Ready) => Supervised<Ready>;

export interface ReachUnitsNeeds {
  /** Of programs, what all of them have in common. */
  readonly llama: Pick<ProgramNeeds, 'threads' | 'sequences' | 'gpu' | 'runFolder'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
}

/** The same units, called from here. What is closed is this side of it. */
export async function reachUnits(
  { name, entry, units, reach }: LentUnits,
  processes: readonly ReachedProcess[],
  needs: ReachUnitsNeeds,
): Promise<TextEngine> {
  switch (reach.type) {
    case 'scripted':
      return openScriptedUnits({ name, entry, units, previous: undefined }).engine;
    case 'llama': {
      const [process] = processes;
      if (!process) throw new ServiceError('internal', `Nothing is lent of ${name}.`);
      return createLlamaEngine({ process: process(parseLlamaUp), sequences: units });
    }
    case 'programs': {
      const more = { ...needs, ...needs.llama, onToken: () => undefined };
      const members = processes.map(async (process, at) => {
        const openServer = async (): Promise<Supervised<ProgramUp>> => process(parseProgramUp);
        const { engine } = await createProgramEngine(entry, reach.plan, { ...more, openServer });
        return { address: `${name}-${at + 1}`, engine };
      });
      return createPool({ members: await Promise.all(members), log: needs.log, clock: needs.clock });
    }
    case 'servers': {
      const { runs } = entry;
      if (runs.type !== 'upstream') throw new ServiceError('internal', `${name} has no servers.`);
      const members = await createServerMembers(entry, { ...runs, addresses: reach.addresses }, needs);
      return createPool({ members, log: needs.log, clock: needs.clock });
    }
  }
}

/** Parsers of what our own process of the same version told. */
const parseLlamaUp = (value: unknown): LlamaUp => value as LlamaUp;
const parseProgramUp = (value: unknown): ProgramUp => value as ProgramUp;
