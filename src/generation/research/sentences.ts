import { endOfStop, sentenceEnd } from '../citations/sentence-end.ts';

/** A line of prose in its sentences, each with the marks behind it and no blanks around. */
export function sentencesOf(line: string): readonly string[] {
  const sentences: string[] = [];
  let rest = line;
  while (rest !== '') {
    const end = sentenceEnd(rest, { isLast: true, isFenced: false }) ?? rest.length;
    const sentence = rest.slice(0, end).trim();
    if (sentence !== '') sentences.push(sentence);
    rest = rest.slice(end);
  }
  return sentences;
}

/** The mark of a report, as `[[3]]`, before what ends the sentence; what closes there closes before the mark. */
export function withMark(sentence: string, index: number): string {
  const end = endOfStop(sentence);
  const stop = sentence.slice(end);
  const before = sentence.slice(0, end) + stop.replaceAll(NO_CLOSING, '');
  const gap = UNSPACED_END.test(before) ? '' : ' ';
  return `${before}${gap}[[${index}]]${stop.replaceAll(CLOSING, '')}`;
}

/** Sentences in a row: writing that needs no blank behind a full stop gets none. */
export const joined = (sentences: readonly string[]): string =>
  sentences.map((sentence, at) => (at === 0 || FULL_END.test(sentences[at - 1] ?? '') ? '' : ' ') + sentence).join('');

const UNSPACED_END = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}）」』”》]$/u;
const CLOSING = /["'”’»)」』）*_]/g;
const NO_CLOSING = /[^"'”’»)」』）*_]/g;
const FULL_END = /[。！？｡]["'”’»)」』）]*$/;
