import { createScriptedEngine, type ScriptStep } from '../../engines/scripted/scripted-engine.ts';
import type { EngineSharing, ModelEngines } from '../model-engines.ts';

type Answer = readonly (string | ScriptStep)[];

export interface FakeEngines {
  readonly engines: ModelEngines & EngineSharing;
  /** Prompts that the engine received, oldest first. */
  readonly prompts: string[];
  /** Queues answers, each a list of tokens or steps. When the queue is empty, `getDefaultAnswer` decides. */
  readonly enqueue: (...answers: readonly Answer[]) => void;
}

export interface FakeEnginesOptions {
  readonly contextTokens: number;
  /** Whether the engine claims to apply grammars; it never does, so the answers must match them. Default: false. */
  readonly grammar?: boolean;
  /** Returns the answer to a prompt. Default: `ok`. */
  readonly getDefaultAnswer?: (prompt: string) => Answer;
}

/** Creates engines that answer for every model as the test says, and record the prompts. */
export function createFakeEngines({
  contextTokens,
  grammar = false,
  getDefaultAnswer = () => ['ok'],
}: FakeEnginesOptions): FakeEngines {
  const prompts: string[] = [];
  const answers: Answer[] = [];
  const scripted = createScriptedEngine({
    contextTokens,
    script({ input }) {
      const prompt = input.type === 'segments' ? input.segments.map(({ text }) => text).join('') : '';
      prompts.push(prompt);
      return (answers.shift() ?? getDefaultAnswer(prompt)).map((step) =>
        typeof step === 'string' ? { type: 'tokens', tokens: [step] } : step,
      );
    },
  });
  const engine = { ...scripted, capabilities: { ...scripted.capabilities, grammar } };
  const unused = () => Promise.reject(new Error('the fake engines have no such function'));
  return {
    prompts,
    enqueue: (...more) => void answers.push(...more),
    engines: {
      engineFor: async () => ({ engine, release: () => undefined }),
      embeddingsFor: unused,
      speechFor: unused,
      rankingFor: unused,
      share: unused,
      releaseIdle: async () => undefined,
      prepare: async () => undefined,
      getState: async () => ({ state: 'ready' }),
      readLoads: async () => [],
      closeUnusedServers: async () => undefined,
      getLastTokenAt: () => undefined,
      close: () => engine.close(),
    },
  };
}
