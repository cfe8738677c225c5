import type { TextEngine } from '../../engines/engine.ts';

/**
 * Returns a view of an engine whose `close` does nothing, for users that do not own the engine.
 * @param start Replaces the engine's own `start`.
 */
export const createEngineView = (
  engine: TextEngine,
  start: TextEngine['start'] = engine.start.bind(engine),
): TextEngine => ({
  get capabilities() {
    return engine.capabilities;
  },
  get state() {
    return engine.state;
  },
  ...(engine.embeddings && { embeddings: engine.embeddings }),
  ...(engine.ranking && { ranking: engine.ranking }),
  start,
  loadModel: () => engine.loadModel(),
  ...(engine.probe && { probe: engine.probe.bind(engine) }),
  countTokens: (input, owner) => engine.countTokens(input, owner),
  tokenize: (input, owner) => engine.tokenize(input, owner),
  close: () => Promise.resolve(),
});
