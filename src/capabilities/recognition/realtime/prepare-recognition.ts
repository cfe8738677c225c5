import type { Catalogue } from '../../../catalogue/model.ts';
import type { Owner } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import type { Hotword } from '../../../core/speech.ts';
import type { SpeechEngine } from '../../../engines/speech-engine.ts';
import type { CapabilityContext } from '../../../service/capability.ts';
import { filterSupportedLanguages } from '../transcription/filter-supported-languages.ts';
import type { RealtimeAudioStream, OpenAudioStream } from '../transcription/realtime-audio-stream.ts';
import type { RunTaskPayload } from './message-schema.ts';
import { getContextText, decodeRecognitionOptions } from './recognition-options.ts';
import type { RealtimeRecognitionOptions } from './recognition-options.ts';
import type { RecognitionLimit } from './recognition-limit.ts';

export interface RecognitionDeps {
  /** Returns the current catalogue, which changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly acquireSpeechEngine: CapabilityContext['leaseSpeechEngine'];
  /** @throws ServiceError if the vocabulary does not exist or belongs to another model. */
  readonly findHotwords: (owner: Owner, id: string, calledModel: string) => Promise<readonly Hotword[]>;
  readonly openAudio: OpenAudioStream;
  readonly recognitionLimit: RecognitionLimit;
}

/** Resources of a running recognition. */
export interface RecognitionResources {
  readonly options: RealtimeRecognitionOptions;
  readonly hotwords: readonly Hotword[];
  readonly context: string;
  readonly engine: SpeechEngine;
  readonly audio: RealtimeAudioStream;
  /** Releases everything, also the concurrency limit. */
  release(): void;
}

/** Acquires what a run-task message requires. @throws ServiceError, after releasing everything. */
export async function prepareRecognition(
  { model: requestedModel, parameters, input }: RunTaskPayload,
  owner: Owner,
  { catalogue, acquireSpeechEngine, findHotwords, openAudio, recognitionLimit }: RecognitionDeps,
): Promise<RecognitionResources> {
  const model = await catalogue().resolve(requestedModel, { interface: 'speech', owner });
  const options = decodeRecognitionOptions(parameters);
  const releases: (() => void)[] = [];
  const release = (): void => {
    for (const each of releases.splice(0)) each();
  };
  try {
    // Acquired first, because each audio decoder is a process.
    releases.push(await recognitionLimit.acquire(owner.workspace));
    const audio = openAudio(options);
    releases.push(() => void audio.close().catch(() => undefined)); // a failure of the stream has been reported already
    const { vocabularyId } = options;
    const vocabularyHotwords =
      vocabularyId === undefined ? [] : await findHotwords(owner, vocabularyId, requestedModel);
    const lease = await acquireSpeechEngine(model);
    releases.push(() => lease.release());
    const { languages } = await lease.engine.loadModel();
    checkLanguages(options.languages, languages, requestedModel);
    const { engine } = lease;
    return {
      options: { ...options, languages: filterSupportedLanguages(options.languages, languages) },
      hotwords: mergeHotwords(vocabularyHotwords, options.hotwords),
      context: getContextText(input),
      engine,
      audio,
      release,
    };
  } catch (error) {
    release();
    throw error;
  }
}

function checkLanguages(requested: readonly string[], supported: readonly string[], model: string): void {
  const unsupported = requested.find((each) => filterSupportedLanguages([each], supported).length === 0);
  if (unsupported === undefined) return;
  const param = 'payload.parameters.language_hints';
  const languages = supported.length > 20 ? `${supported.length} languages` : supported.join(', ');
  throw new ServiceError(
    'invalid-request',
    `The model ${model} does not support this language; it supports ${languages}. (${param}: "${unsupported}")`,
    {
      param,
    },
  );
}

/** Merges both lists; the task's own hotwords override those of the vocabulary. */
function mergeHotwords(vocabularyHotwords: readonly Hotword[], taskHotwords: readonly Hotword[]): readonly Hotword[] {
  const taskTexts = new Set(taskHotwords.map(({ text }) => text));
  return [...vocabularyHotwords.filter(({ text }) => !taskTexts.has(text)), ...taskHotwords];
}
