import type { Catalogue, ResolvedModel } from '../../catalogue/model.ts';
import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import type { Hotword } from '../../core/speech.ts';
import type { SpeechEngine } from '../../engines/speech-engine.ts';
import { knownLanguages } from '../../transcription/known-languages.ts';
import type { AudioStream, OpenAudioStream } from './audio-stream.ts';
import type { RunTask } from './message-schema.ts';
import { contextOf, readRecognitionWish } from './recognition-wish.ts';
import type { RecognitionWish } from './recognition-wish.ts';
import type { Places } from './places.ts';

/** A model's engine, until it is released. */
export interface SpeechLease {
  readonly engine: SpeechEngine;
  release(): void;
}

export interface BeginNeeds {
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly speechFor: (model: ResolvedModel) => Promise<SpeechLease>;
  /** Of a vocabulary. @throws ServiceError where there is no such one, or it is for another model than the called one. */
  readonly findHotwords: (owner: Owner, id: string, calledModel: string) => Promise<readonly Hotword[]>;
  readonly openAudio: OpenAudioStream;
  readonly places: Places;
}

/** Whatever a recognition works with. */
export interface BegunTask {
  readonly wish: RecognitionWish;
  readonly hotwords: readonly Hotword[];
  readonly context: string;
  readonly engine: SpeechEngine;
  readonly audio: AudioStream;
  /** When it has ended: its place is free again. */
  release(): void;
}

/** Finds what a run-task asks for. @throws ServiceError; then nothing is kept. */
export async function beginTask(
  { model: asked, parameters, input }: RunTask,
  owner: Owner,
  { catalogue, speechFor, findHotwords, openAudio, places }: BeginNeeds,
): Promise<BegunTask> {
  const model = catalogue().resolve(asked, { interface: 'speech', owner });
  const wish = readRecognitionWish(parameters);
  const releases: (() => void)[] = [];
  const release = (): void => {
    for (const each of releases.splice(0)) each();
  };
  try {
    // In its place alone: a decoder is a process of its own.
    releases.push(places.take());
    const audio = openAudio(wish);
    releases.push(() => void audio.close().catch(() => undefined)); // it may have failed before, and was told
    const { vocabularyId } = wish;
    const listed = vocabularyId === undefined ? [] : await findHotwords(owner, vocabularyId, asked);
    const lease = await speechFor(model);
    releases.push(() => lease.release());
    const { languages } = await lease.engine.model();
    checkLanguages(wish.languages, languages, asked);
    const { engine } = lease;
    return {
      wish: { ...wish, languages: knownLanguages(wish.languages, languages) },
      hotwords: joined(listed, wish.hotwords),
      context: contextOf(input),
      engine,
      audio,
      release,
    };
  } catch (error) {
    release();
    throw error;
  }
}

function checkLanguages(wanted: readonly string[], known: readonly string[], model: string): void {
  const unknown = wanted.find((each) => knownLanguages([each], known).length === 0);
  if (unknown === undefined) return;
  const param = 'payload.parameters.language_hints';
  const languages = known.length > 20 ? `${known.length} languages` : known.join(', ');
  throw new ServiceError(
    'invalid-request',
    `The model ${model} does not know it; it knows ${languages}. (${param}: "${unknown}")`,
    {
      param,
    },
  );
}

/** What came with the recognition counts where a word is in both. */
function joined(listed: readonly Hotword[], own: readonly Hotword[]): readonly Hotword[] {
  const texts = new Set(own.map(({ text }) => text));
  return [...listed.filter(({ text }) => !texts.has(text)), ...own];
}
