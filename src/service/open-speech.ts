import type { ResolvedModel } from '../catalogue/model.ts';
import { scriptedSpeech } from '../engines/scripted/scripted-speech.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import type { ModelEngines } from './model-engines.ts';

/** A recognition engine, for as long as somebody works with it. */
interface SpeechLease {
  readonly engine: SpeechEngine;
  release(): void;
}

export interface OpenedSpeech {
  /** @throws ServiceError `unsupported` for what has no engine, or has one that is not installed; `overloaded` without weights. */
  speechFor(model: ResolvedModel): Promise<SpeechLease>;
  close(): Promise<void>;
}

interface OpenSpeechNeeds {
  readonly kind: 'llama' | 'scripted';
  readonly engines: Pick<ModelEngines, 'speechFor'>;
}

/** From a model that recognises speech to the engine that runs it; in tests of what lies around it, to one that plays. */
export function openSpeech({ kind, engines }: OpenSpeechNeeds): OpenedSpeech {
  const scripted = kind === 'scripted' ? scriptedSpeech() : undefined;
  return {
    speechFor: async (model) =>
      scripted ? { engine: scripted, release: () => undefined } : await engines.speechFor(model),
    close: async () => await scripted?.close(),
  };
}
