import type { ModelEntry } from '../../catalogue/model.ts';
import type { TextEngine } from '../../engines/engine.ts';
import type { SupervisedProcess } from '../../engines/supervisor.ts';
import type { ProgramPlan } from '../server-engines.ts';

/** The units of a deployment, combined into one engine. */
export interface DeploymentUnits {
  /** Takes the calls and distributes them over the units. */
  readonly engine: TextEngine;
  /** The engine of each unit; several units may share one. */
  readonly units: readonly TextEngine[];
  /** Returns whether a unit that had started is up now. */
  isUp(unit: TextEngine): boolean;
  /** Why there are fewer units than requested. */
  readonly reason?: string;
  /** How another process of the service connects to the same units. */
  readonly connection: UnitsConnection;
  /** The engine processes in the order of their units; empty when the units have no processes here. */
  readonly processes: readonly SupervisedProcess<unknown>[];
  /** Closes the units, except those that a later opening has taken over. */
  close(): Promise<void>;
}

/** How to connect to units from another process. Plain JSON. */
export type UnitsConnection =
  /** Each process creates its own scripted engine. */
  | { readonly type: 'scripted' }
  /** One process, with one sequence for each unit. */
  | { readonly type: 'llama' }
  /** One server program for each unit. */
  | { readonly type: 'programs'; readonly plan: ProgramPlan }
  /** These of the entry's upstream servers. */
  | { readonly type: 'servers'; readonly addresses: readonly string[] };

export interface UnitsRequest {
  /** Name for logs and process names. */
  readonly name: string;
  /** The catalogue entry to run, with the context length of the deployment. */
  readonly entry: ModelEntry;
  /** Number of units, at least 1. */
  readonly units: number;
  /** The units that serve now; the opening may take some of them over. */
  readonly previous: DeploymentUnits | undefined;
}

/**
 * Opens as many of the requested units as possible, at least one. They may still be starting when this resolves.
 * @throws ServiceError with the reason when no unit is possible.
 */
export type OpenUnits = (request: UnitsRequest, signal: AbortSignal) => Promise<DeploymentUnits>;
