import type { ResolvedModel } from '../catalogue/model.ts';
import { createScriptedSpeechEngine } from '../engines/scripted/scripted-speech-engine.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { ModelEngines } from './model-engines.ts';

/** A lease on a speech engine. */
interface SpeechEngineLease {
  readonly engine: SpeechEngine;
  release(): void;
}

export interface SpeechModule {
  /**
   * Leases the engine of the model.
   * @throws ServiceError `unsupported` when it has no engine or the engine is not installed; `overloaded` without weights.
   */
  speechFor(model: ResolvedModel): Promise<SpeechEngineLease>;
  close(): Promise<void>;
}

interface OpenSpeechDeps {
  readonly kind: 'llama' | 'scripted';
  readonly engines: Pick<ModelEngines, 'speechFor'>;
}

/** Opens access to speech engines; with engine kind `scripted`, one scripted engine replaces all of them. */
export function openSpeech({ kind, engines }: OpenSpeechDeps): SpeechModule {
  const scripted = kind === 'scripted' ? createScriptedSpeechEngine() : undefined;
  return {
    speechFor: async (model) =>
      scripted ? { engine: scripted, release: () => undefined } : await engines.speechFor(model),
    close: async () => await scripted?.close(),
  };
}
