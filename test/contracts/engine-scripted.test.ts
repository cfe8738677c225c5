import { createScriptedEngine } from '../../src/engines/scripted/scripted-engine.ts';
import type { Step } from '../../src/engines/scripted/scripted-engine.ts';
import { EMBEDDED, engineContract } from './engine-contract.ts';

const WORDS: Step = { type: 'tokens', tokens: Array.from({ length: 5_000 }, (_, i) => `word${i} `), perTick: 16 };
const CONTEXT_TOKENS = 8_192;

engineContract('scripted', { ...EMBEDDED, grammar: false }, async () => {
  const running = new Set<string>();
  let runs = 0;
  const scripted = createScriptedEngine({
    contextTokens: CONTEXT_TOKENS,
    sequences: 3,
    script: ({ input }) => {
      const isDeadly = input.type === 'segments' && input.segments.some(({ text }) => text.includes('die'));
      return isDeadly
        ? [
            { type: 'tokens', tokens: ['a ', 'b '] },
            { type: 'delay', ms: 1 },
            { type: 'fail', kind: 'engine-failed' },
          ]
        : [WORDS];
    },
    onRunEnd: ({ id }) => running.delete(id),
  });
  const engine: typeof scripted = {
    ...scripted,
    async start(request, signal) {
      const id = `run ${++runs}`;
      const started = await scripted.start({ ...request, id }, signal);
      running.add(id);
      return started;
    },
  };
  return {
    engine,
    contextTokens: CONTEXT_TOKENS,
    sequences: 3,
    longTokens: 2_000,
    busy: async () => running.size,
    deadly: { text: 'Now die.', strike: () => undefined },
    close: () => engine.close(),
  };
});
