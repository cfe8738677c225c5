import type { ResolvedModel } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import { scriptedSpeech } from '../engines/scripted/scripted-speech.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';

/** A recognition engine, for as long as somebody works with it. */
interface SpeechLease {
  readonly engine: SpeechEngine;
  release(): void;
}

export interface OpenedSpeech {
  /** @throws ServiceError `unsupported` for what has no engine. */
  speechFor(model: ResolvedModel): Promise<SpeechLease>;
  close(): Promise<void>;
}

/** From a model that recognises speech to the engine that runs it. */
export function openSpeech({ kind }: { readonly kind: 'llama' | 'scripted' }): OpenedSpeech {
  const scripted = kind === 'scripted' ? scriptedSpeech() : undefined;
  return {
    speechFor({ entry: { name, runs } }) {
      if (scripted) return Promise.resolve({ engine: scripted, release: () => undefined });
      const why = runs.type === 'none' ? runs.reason : 'what runs it does not recognise speech.';
      return Promise.reject(new ServiceError('unsupported', `${name}: ${why}`, { param: 'model' }));
    },
    close: async () => await scripted?.close(),
  };
}
