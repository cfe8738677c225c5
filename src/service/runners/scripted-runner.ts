import { parsePromptScript } from '../../engines/scripted/parse-prompt-script.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { createScriptedSpeechEngine } from '../../engines/scripted/scripted-speech-engine.ts';
import { getContextTokens, type Runner, type RunnerDeps } from './runner.ts';
import { createRunningTextEngine } from './running-engine.ts';

/** Runs every entry of this machine in one scripted engine, whose answers the requests describe. */
export function createScriptedRunner(deps: RunnerDeps): Runner {
  const { llama, textEngines } = deps;
  const key = 'scripted';

  return {
    parts: ['text', 'embeddings', 'ranking', 'speech'],
    getKey: () => key,
    lease: (entry) =>
      textEngines.lease(key, async () => {
        const text = createScriptedEngine({
          script: parsePromptScript,
          contextTokens: getContextTokens(entry, deps),
          sequences: llama.sequences,
          workspaceShare: llama.workspaceShare,
          onToken: deps.createTokenRecorder(key),
        });
        const running = createRunningTextEngine(text);
        const speech = createScriptedSpeechEngine();
        return Object.assign(running, {
          getParts: () => ({ text, embeddings: text.embeddings, ranking: text.ranking, speech }),
        });
      }),
    getState: async ({ runner }) =>
      runner.type === 'none' ? { state: 'off', reason: runner.reason } : { state: 'ready' },
  };
}
