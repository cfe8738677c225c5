import { findStopStart, findSentenceEnd } from '../../../generation/citations/sentence-end.ts';

/** Splits a line of prose into sentences, each trimmed and with the citation marks after it. */
export function splitSentences(line: string): readonly string[] {
  const sentences: string[] = [];
  let rest = line;
  while (rest !== '') {
    const end = findSentenceEnd(rest, { isLast: true, isFenced: false }) ?? rest.length;
    const sentence = rest.slice(0, end).trim();
    if (sentence !== '') sentences.push(sentence);
    rest = rest.slice(end);
  }
  return sentences;
}

/** Inserts a citation mark such as `[[3]]` before the final punctuation, after closing quotes and brackets. */
export function addCitationMark(sentence: string, index: number): string {
  const end = findStopStart(sentence);
  const stop = sentence.slice(end);
  const before = sentence.slice(0, end) + stop.replaceAll(NO_CLOSING, '');
  const gap = UNSPACED_END.test(before) ? '' : ' ';
  return `${before}${gap}[[${index}]]${stop.replaceAll(CLOSING, '')}`;
}

/** Joins sentences, with a space between them unless the script needs none after a full stop. */
export const joinSentences = (sentences: readonly string[]): string =>
  sentences.map((sentence, at) => (at === 0 || FULL_END.test(sentences[at - 1] ?? '') ? '' : ' ') + sentence).join('');

const UNSPACED_END = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}）」』”》]$/v;
const CLOSING = /["'”’»)」』）*_]/g;
const NO_CLOSING = /[^"'”’»)」』）*_]/g;
const FULL_END = /[。！？｡]["'”’»)」』）]*$/;
