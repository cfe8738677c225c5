import type { ModelEntry } from '../../catalogue/model.ts';
import type { TextEngine } from '../../engines/engine.ts';
import type { Supervised } from '../../engines/supervisor.ts';

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
  /** The processes behind it, where other processes of ours may call them: each by the number it has here. */
  readonly processes: readonly Supervised<unknown>[];
  /** Ends it, but for what later units took over. */
  close(): Promise<void>;
}

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
