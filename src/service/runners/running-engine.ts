import { applyEngineModelInfo } from '../../catalogue/engine-model-info.ts';
import type { ModelEntry } from '../../catalogue/model.ts';
import type { ManagedEngine } from '../../engines/engine-registry.ts';
import type { TextEngine } from '../../engines/engine.ts';
import type { SupervisedProcess } from '../../engines/supervisor.ts';
import { detectLoadedModelInfo } from '../detect-loaded-model-info.ts';
import type { RunnerDeps, RunningEngine } from './runner.ts';

/** Joins an engine with the parts that it offers and the process that runs it. */
export const createRunningEngine = (
  engine: ManagedEngine,
  parts: Pick<RunningEngine, 'getParts' | 'waitUntilReady' | 'supervised' | 'selectEntry'>,
): RunningEngine => ({
  ...parts,
  get state() {
    return engine.state;
  },
  close: () => engine.close(),
});

/** Wraps a text engine. @param supervised The process of the engine, if it has one that can be shared. */
export const createRunningTextEngine = (engine: TextEngine, supervised?: SupervisedProcess<unknown>): RunningEngine =>
  createRunningEngine(engine, {
    getParts: () => ({ text: engine, embeddings: engine.embeddings, ranking: engine.ranking }),
    waitUntilReady: () => engine.loadModel(),
    supervised,
  });

/**
 * Adds what the engine reports about its model to the catalogue, and logs what callers should know; an engine without
 * such a report is no failure.
 */
export function recordModelInfo(
  entry: ModelEntry,
  engine: TextEngine,
  { catalogue, log }: Pick<RunnerDeps, 'catalogue' | 'log'>,
): void {
  engine.loadModel().then(
    (model) => {
      const info = detectLoadedModelInfo(entry, model, engine.capabilities);
      catalogue.applyModelInfo(entry.name, info);
      const { tools, toolCalls } = applyEngineModelInfo(entry, info).abilities;
      if (tools && toolCalls === 'unknown')
        log.warn('tool call format of chat template unknown; calls may arrive as text', { model: entry.name });
    },
    () => undefined,
  );
}
