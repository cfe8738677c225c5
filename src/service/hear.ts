import type { Catalogue, ResolvedModel } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { SpeechEngine } from '../engines/speech-engine.ts';
import { modelFacts } from '../generation/model-facts.ts';
import type { HeardSentence } from '../protocols/compatible/audio-transcriptions/encode.ts';
import type { Hear } from '../protocols/compatible/audio-transcriptions/endpoint.ts';
import type { OpenAudio } from '../transcription/opened-audio.ts';
import { UnreadableAudio } from '../transcription/opened-audio.ts';
import { knownLanguages } from '../transcription/known-languages.ts';
import { readSentences } from '../transcription/read-sentences.ts';
import { transcribe } from '../transcription/transcribe.ts';

export interface HearNeeds {
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly speechFor: (model: ResolvedModel) => Promise<{ readonly engine: SpeechEngine; release(): void }>;
  readonly openAudio: OpenAudio;
}

/** Hears a file while its caller waits. */
export function createHear({ catalogue, speechFor, openAudio }: HearNeeds): Hear {
  return async ({ model, source, language, prompt }, { requestId, owner, priority, signal, log }) => {
    const resolved = catalogue().resolve(model, { interface: 'speech', owner });
    log.add(modelFacts(resolved));
    const { engine, release } = await speechFor(resolved);
    try {
      const { languages } = await engine.model();
      const wanted = knownLanguages(language === undefined ? [] : [language], languages);
      if (language !== undefined && wanted.length === 0) {
        throw new ServiceError('invalid-request', `The model does not know the language '${language}'.`, {
          param: 'language',
        });
      }
      const audio = openAudio(source, { channel: undefined, signal });
      const wish = {
        id: requestId,
        owner: { workspace: owner.workspace, key: owner.keyId, ...(priority ? { priority } : {}) },
        languages: wanted,
        hotwords: [],
        wantsWords: true,
        ...(prompt ? { context: prompt } : {}),
      };
      const sentences: HeardSentence[] = [];
      for await (const window of transcribe(audio.blocks, wish, engine, signal)) {
        const { logProbability, noSpeech } = window;
        for (const each of readSentences(window, {})) sentences.push({ ...each, logProbability, noSpeech });
      }
      const facts = audio.facts();
      log.add({ audioMs: facts.durationMs, sentences: sentences.length });
      return { sentences, facts };
    } catch (thrown) {
      if (!(thrown instanceof UnreadableAudio)) throw thrown;
      throw new ServiceError('invalid-request', thrown.message, { param: 'file', cause: thrown });
    } finally {
      release();
    }
  };
}
