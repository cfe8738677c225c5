import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import type { Step } from '../../engines/scripted/scripted-engine.ts';
import type { EngineSharing, ModelEngines } from '../model-engines.ts';

type Answer = readonly (string | Step)[];

export interface PlayedEngines {
  readonly engines: ModelEngines & EngineSharing;
  /** Prompts that the engine was given, as text, the oldest first. */
  readonly prompts: string[];
  /** What it says next: a list of tokens, or steps. Where nothing is left it says what `otherwise` has for it. */
  readonly play: (...answers: readonly Answer[]) => void;
}

export interface PlayedEnginesOptions {
  readonly contextTokens: number;
  /** By the prompt. Default: `ok`. */
  readonly otherwise?: (prompt: string) => Answer;
}

/** One engine for every model. It says what a test tells it to, and remembers what it was asked. */
export function playedEngines({ contextTokens, otherwise = () => ['ok'] }: PlayedEnginesOptions): PlayedEngines {
  const prompts: string[] = [];
  const answers: Answer[] = [];
  const engine = createScriptedEngine({
    contextTokens,
    script({ input }) {
      const prompt = input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '';
      prompts.push(prompt);
      return (answers.shift() ?? otherwise(prompt)).map((step) =>
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
