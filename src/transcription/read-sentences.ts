import { SENTENCE_PAUSE_MS } from '../core/limits.ts';
import type { ReadingWish, Sentence } from '../core/speech.ts';
import { cleanWords } from './clean-words.ts';
import { sentencesOf } from './sentences.ts';
import type { HeardWindow } from './transcribe.ts';

/** What was heard in a window, as its caller wants to read it. */
export function readSentences(
  { words, text, language, beginMs, endMs }: Pick<HeardWindow, 'words' | 'text' | 'language' | 'beginMs' | 'endMs'>,
  reading: ReadingWish,
): readonly Sentence[] {
  // An engine without times for words has them for what it heard at once.
  if (words.length === 0) return [{ text, language, beginMs, endMs, words }];
  return sentencesOf({ words: cleanWords(words, reading), language }, { pauseMs: SENTENCE_PAUSE_MS });
}
