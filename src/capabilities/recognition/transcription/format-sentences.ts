import { SENTENCE_PAUSE_MS } from './limits.ts';
import type { TranscriptFormatOptions, TranscriptSentence } from '../../../core/speech.ts';
import { formatWords } from './format-words.ts';
import { splitTranscript } from './split-sentences.ts';
import type { TranscribedWindow } from './transcribe.ts';

/** Splits the transcript of a window into sentences in the caller's format. */
export function formatSentences(
  {
    words,
    text,
    language,
    beginMs,
    endMs,
  }: Pick<TranscribedWindow, 'words' | 'text' | 'language' | 'beginMs' | 'endMs'>,
  options: TranscriptFormatOptions,
): readonly TranscriptSentence[] {
  // An engine without word times only has times for the whole window.
  if (words.length === 0) return [{ text, language, beginMs, endMs, words }];
  return splitTranscript({ words: formatWords(words, options), language }, { pauseMs: SENTENCE_PAUSE_MS });
}
