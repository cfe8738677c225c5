import type { EngineRequest, EngineRun } from '../engines/engine.ts';
import type { Stages } from './run-events.ts';
import type { HoldBatch } from './stages/check-result.ts';

/** How a request is sent to an engine, and which stages process the events of its answer. */
export interface GenerationPlan {
  /** Request fields that this model or engine ignores, in canonical names. */
  readonly ignored: readonly string[];
  readonly engineRequest: Pick<EngineRequest, 'input' | 'phases' | 'markers'>;
  /** Texts of special tokens that end this answer, besides the stop tokens of the model's family. */
  readonly stopTokens?: readonly string[];
  /** @param run The started run. */
  readonly createStages: (choice: number, holdBatch: HoldBatch, run: Pick<EngineRun, 'hasWideGrammar'>) => Stages;
}
