import type { ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { RunningProgram } from '../../engines/command/command-server.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createLlamaEngine } from '../../engines/llama/llama-engine.ts';
import type { LlamaEndpoint } from '../../engines/llama/protocol.ts';
import { createPool } from '../../engines/pool/pool.ts';
import type { SupervisedProcess } from '../../engines/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import { createProgramEngine, createServerMembers, getPoolShare, type ProgramEngineDeps } from '../server-engines.ts';
import type { UnitsConnection } from './deployment-units.ts';
import { openScriptedUnits } from './scripted-units.ts';

/** Units that another process of the service has opened. Plain JSON. */
export interface SharedUnits {
  /** Name of the deployment. */
  readonly name: string;
  readonly entry: ModelEntry;
  readonly units: number;
  readonly connection: UnitsConnection;
}

/** Connects to a process that another process of the service supervises. */
export type ProcessConnector = <Ready>() => SupervisedProcess<Ready>;

export interface ConnectUnitsDeps {
  /** Settings that all server programs share. */
  readonly llama: Pick<ProgramEngineDeps, 'threads' | 'sequences' | 'gpu' | 'runFolder' | 'workspaceShare'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock: Clock;
}

/** Connects to units of another process. Closing the returned engine closes only this connection. */
export async function connectUnits(
  { name, entry, units, connection }: SharedUnits,
  processes: readonly ProcessConnector[],
  deps: ConnectUnitsDeps,
): Promise<TextEngine> {
  switch (connection.type) {
    case 'scripted':
      return openScriptedUnits({ name, entry, units, previous: undefined }).engine;
    case 'llama': {
      const [connectProcess] = processes;
      if (!connectProcess) throw new ServiceError('internal', `The units of ${name} have no engine process.`);
      return createLlamaEngine({ process: connectProcess<LlamaEndpoint>(), sequences: units });
    }
    case 'programs': {
      const programDeps = { ...deps, ...deps.llama, onToken: () => undefined };
      const members = processes.map(async (connectProcess, index) => {
        const openServer = async (): Promise<SupervisedProcess<RunningProgram>> => connectProcess();
        const { engine } = await createProgramEngine(entry, connection.plan, { ...programDeps, openServer });
        return { address: `${name}-${index + 1}`, engine };
      });
      return createPool({ endpoints: await Promise.all(members), log: deps.log, clock: deps.clock });
    }
    case 'servers': {
      const { runner } = entry;
      if (runner.type !== 'upstream')
        throw new ServiceError('internal', `The entry of ${name} has no upstream servers.`);
      const { workspaceShare } = deps.llama;
      const servers = { ...runner, addresses: connection.addresses };
      const members = await createServerMembers(entry, servers, { ...deps, workspaceShare });
      const share = getPoolShare(runner.remote, workspaceShare);
      return createPool({ endpoints: members, share, log: deps.log, clock: deps.clock });
    }
  }
}
