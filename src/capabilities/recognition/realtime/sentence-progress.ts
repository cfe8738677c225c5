import type { TranscriptFormatOptions } from '../../../core/speech.ts';
import { formatWords } from '../transcription/format-words.ts';
import type { LiveTranscript } from '../transcription/live-recognition.ts';
import { joinWords } from '../transcription/split-sentences.ts';
import type { SentenceResult } from './encode-event.ts';

/** The sentences of a recognition so far. */
export interface SentenceProgress {
  /** Number of the next sentence, from 1. */
  readonly nextId: number;
  /** Recognizer's number of a sentence that was sent but is not final yet. */
  readonly openNumber: number | undefined;
  /** End of the recognized audio, in ms. */
  readonly recognizedMs: number;
}

export const NO_SENTENCES: SentenceProgress = { nextId: 1, openNumber: undefined, recognizedMs: 0 };

/** Adds a transcript. Returns undefined when it has nothing to send. */
export function addTranscript(
  progress: SentenceProgress,
  { number, isFinal, beginMs, endMs, ...transcript }: LiveTranscript,
  options: TranscriptFormatOptions,
): { readonly progress: SentenceProgress; readonly result: SentenceResult } | undefined {
  const words = formatWords(transcript.words, options);
  const text = words === transcript.words ? transcript.text : joinWords(words);
  // A sentence that was sent before needs its final event, even without text.
  if (text === '' && !(isFinal && progress.openNumber === number)) return undefined;
  return {
    progress: {
      nextId: progress.nextId + (isFinal ? 1 : 0),
      openNumber: isFinal ? undefined : number,
      recognizedMs: Math.max(progress.recognizedMs, endMs),
    },
    result: { id: progress.nextId, text, beginMs, endMs, words, isFinal, seconds: Math.ceil(endMs / 1_000) },
  };
}
