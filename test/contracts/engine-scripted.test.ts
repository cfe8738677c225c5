import { createScriptedEngine } from '../../src/engines/scripted/scripted-engine.ts';
import type { ScriptStep } from '../../src/engines/scripted/scripted-engine.ts';
import { EMBEDDED_FEATURES, describeEngineContract } from './engine-contract.ts';

const WORDS: ScriptStep = { type: 'tokens', tokens: Array.from({ length: 5_000 }, (_, i) => `word${i} `), perTick: 16 };
const CONTEXT_TOKENS = 8_192;

describeEngineContract('scripted', { ...EMBEDDED_FEATURES, grammar: false }, async () => {
  const running = new Set<string>();
  let runs = 0;
  const scripted = createScriptedEngine({
    contextTokens: CONTEXT_TOKENS,
    sequences: 3,
    script: ({ input }) => {
      const isFailing = input.type === 'segments' && input.segments.some(({ text }) => text.includes('die'));
      return isFailing
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
      const run = await scripted.start({ ...request, id }, signal);
      running.add(id);
      return run;
    },
  };
  return {
    engine,
    contextTokens: CONTEXT_TOKENS,
    sequences: 3,
    longTokens: 2_000,
    countBusy: async () => running.size,
    failing: { text: 'Now die.', fail: () => undefined },
    close: () => engine.close(),
  };
});
