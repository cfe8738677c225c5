import { createNoTranslationError, createUnsupportedLanguageError } from '../../core/generation-errors.ts';
import type { Catalogue } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import { getModelLogFields } from '../../generation/model-log-fields.ts';
import type { CapabilityContext } from '../../service/capability.ts';
import type { RecognizeUpload } from './audio-transcriptions/endpoint.ts';
import type { AudioOpener } from './transcription/audio-opener.ts';
import { UnreadableAudioError } from './transcription/audio-opener.ts';
import { filterSupportedLanguages } from './transcription/filter-supported-languages.ts';
import { formatSentences } from './transcription/format-sentences.ts';
import { transcribe } from './transcription/transcribe.ts';

export interface RecognizeFileDeps {
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly leaseSpeechEngine: CapabilityContext['leaseSpeechEngine'];
  readonly openAudio: AudioOpener;
}

/** Creates the function that transcribes or translates one audio file while the caller waits for the response. */
export function createRecognizeFile({ catalogue, leaseSpeechEngine, openAudio }: RecognizeFileDeps): RecognizeUpload {
  return async function* ({ model, source, task, language, prompt, hotwords }, context) {
    const { requestId, owner, priority, signal, log } = context;
    const resolved = await catalogue().resolve(model, { interface: 'speech', owner });
    log.add(getModelLogFields(resolved));
    const { engine, release } = await leaseSpeechEngine(resolved);
    try {
      const { languages, translates } = await engine.loadModel();
      if (task === 'translate' && !translates) throw createNoTranslationError();
      const requestedLanguages = filterSupportedLanguages(language === undefined ? [] : [language], languages);
      if (language !== undefined && requestedLanguages.length === 0) {
        throw createUnsupportedLanguageError(language, 'language');
      }
      const audio = openAudio(source, { workspace: owner.workspace, channel: undefined, signal });
      const request = {
        id: requestId,
        owner: { workspace: owner.workspace, key: owner.keyId, ...(priority ? { priority } : {}) },
        languages: requestedLanguages,
        task,
        hotwords,
        includeWords: true,
        ...(prompt ? { context: prompt } : {}),
      };
      let count = 0;
      for await (const window of transcribe(audio.blocks, request, engine, signal)) {
        const { logProbability, noSpeech } = window;
        const sentences = formatSentences(window, {}).map((sentence) => ({ ...sentence, logProbability, noSpeech }));
        count += sentences.length;
        yield [{ type: 'sentences', sentences }];
      }
      const audioMetadata = audio.getMetadata();
      log.add({ audioMs: audioMetadata.durationMs, sentences: count });
      yield [{ type: 'end', audioMetadata }];
    } catch (thrown) {
      if (!(thrown instanceof UnreadableAudioError)) throw thrown;
      throw new ServiceError('invalid-request', thrown.message, { param: 'file', cause: thrown });
    } finally {
      release();
    }
  };
}
