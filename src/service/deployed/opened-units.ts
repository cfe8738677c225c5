import type { ModelEntry } from '../../catalogue/model.ts';
import type { TextEngine } from '../../engines/engine.ts';
import type { Supervised } from '../../engines/supervisor.ts';
import type { ProgramPlan } from '../server-engines.ts';

/** Units of a deployment, as one engine. */
export interface OpenedUnits {
  /** What calls are put to. */
  readonly engine: TextEngine;
  /** The engine of each unit; several may be the same one. */
  readonly units: readonly TextEngine[];
  /** Of each unit that came up, whether it is there now. */
  isUp(unit: TextEngine): boolean;
  /** Why there are fewer than were wanted. */
  readonly reason?: string;
  /** How other processes of ours call the same. */
  readonly reach: Reach;
  /** The processes behind it, in the order of their units; none where it has none of its own. */
  readonly processes: readonly Supervised<unknown>[];
  /** Ends it, but for what later units took over. */
  close(): Promise<void>;
}

/** Plain JSON. */
export type Reach =
  /** Each process makes its own. */
  | { readonly type: 'scripted' }
  /** One process, which has as many sequences as there are units. */
  | { readonly type: 'llama' }
  /** A process for each unit. */
  | { readonly type: 'programs'; readonly plan: ProgramPlan }
  /** Of the entry's, these. */
  | { readonly type: 'servers'; readonly addresses: readonly string[] };

export interface UnitsWish {
  /** For logs and in the names of processes. */
  readonly name: string;
  /** What runs it, with the context that the deployment asked for. */
  readonly entry: ModelEntry;
  /** From 1. */
  readonly units: number;
  /** What serves now, and may be taken over. */
  readonly previous: OpenedUnits | undefined;
}

/**
 * Opens as many units as there can be of what is wanted, at least one. They need not have come up.
 * @throws ServiceError why there can be none.
 */
export type OpenUnits = (wish: UnitsWish, signal: AbortSignal) => Promise<OpenedUnits>;
