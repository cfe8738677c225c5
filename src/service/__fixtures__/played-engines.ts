import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import type { Step } from '../../engines/scripted/scripted-engine.ts';
import type { EngineSharing, ModelEngines } from '../model-engines.ts';

export interface PlayedEngines {
  readonly engines: ModelEngines & EngineSharing;
  /** Prompts that the engine was given, as text, the oldest first. */
  readonly prompts: string[];
  /** What it says next: a list of tokens, or steps. Where nothing is left it says `ok`. */
  readonly play: (...answers: readonly (readonly (string | Step)[])[]) => void;
}

/** One engine for every model. It says what a test tells it to, and remembers what it was asked. */
export function playedEngines({ contextTokens }: { readonly contextTokens: number }): PlayedEngines {
  const prompts: string[] = [];
  const answers: (readonly (string | Step)[])[] = [];
  const engine = createScriptedEngine({
    contextTokens,
    script({ input }) {
      prompts.push(input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '');
      return (answers.shift() ?? ['ok']).map((step) =>
        typeof step === 'string' ? { type: 'tokens', tokens: [step] } : step,
      );
    },
  });
  const unused = () => Promise.reject(new Error('this is not asked for'));
  return {
    prompts,
    play: (...more) => void answers.push(...more),
    engines: {
      engineFor: async () => ({ engine, release: () => undefined }),
      embeddingsFor: unused,
      speechFor: unused,
      rankingFor: unused,
      share: unused,
      releaseIdle: async () => undefined,
      prepare: async () => undefined,
      stateOf: async () => ({ state: 'ready' }),
      keepServersOf: async () => undefined,
      lastTokenAt: () => undefined,
      close: () => engine.close(),
    },
  };
}
