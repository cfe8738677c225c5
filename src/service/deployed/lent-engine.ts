import type { TextEngine } from '../../engines/engine.ts';

/** The same engine for somebody who cannot close it. @param start In the place of its own. */
export const lentEngine = (engine: TextEngine, start: TextEngine['start'] = engine.start.bind(engine)): TextEngine => ({
  get capabilities() {
    return engine.capabilities;
  },
  get state() {
    return engine.state;
  },
  ...(engine.embeddings && { embeddings: engine.embeddings }),
  ...(engine.ranking && { ranking: engine.ranking }),
  start,
  model: () => engine.model(),
  ...(engine.probe && { probe: engine.probe.bind(engine) }),
  countTokens: (input) => engine.countTokens(input),
  tokenize: (input) => engine.tokenize(input),
  close: () => Promise.resolve(),
});
