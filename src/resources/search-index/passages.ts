import { INDEX_PASSAGE_CHARS_MAX, INDEX_PASSAGE_WORDS } from '../../core/limits.ts';
import { wordCountOf } from './terms.ts';

/** Ours: of its words so many, and a passage ends before a heading rather than behind it. */
const HEADING_WORDS = INDEX_PASSAGE_WORDS / 4;

/** Ends of sentences with the blanks behind them, where their writing has some; ends of paragraphs, and of lines of lists and tables. */
const SENTENCE_END = /((?<=[.!?…]["')\]]?)\s+|(?<=[。！？])\s*|\n\s*\n\s*|\n(?=[-*#|>\d]))/u;

const HEADING = /^#{1,6} /;

/**
 * A text in passages of about INDEX_PASSAGE_WORDS words. Each begins with the last sentence of the one before, so that what
 * stands across their border is found as a whole; a sentence that is longer than a passage is cut.
 */
export function* passagesOf(text: string): Generator<string> {
  let passage = begin();
  for (const sentence of sentencesOf(text)) {
    const isHeading = HEADING.test(sentence.text);
    if (!fits(passage, sentence) || (isHeading && passage.words >= HEADING_WORDS)) {
      if (passage.own > 0) yield textOf(passage);
      passage = begin(passage.sentences.at(-1));
    }
    // What is repeated stands for what goes on: a heading begins something else. Nor is it worth a passage that is too long.
    if (passage.own === 0 && (isHeading || !fits(passage, sentence))) passage = begin();
    passage.sentences.push(sentence);
    passage.words += sentence.words;
    passage.chars += sentence.gap.length + sentence.text.length;
    passage.own++;
  }
  if (passage.own > 0) yield textOf(passage);
}

interface Passage {
  readonly sentences: Sentence[];
  words: number;
  chars: number;
  /** Sentences of it that no earlier passage has. */
  own: number;
}

/** @param last Of the passage before; a long one said twice would be half of both. */
function begin(last?: Sentence): Passage {
  const isShort = last && last.words <= INDEX_PASSAGE_WORDS / 4 && last.text.length <= INDEX_PASSAGE_CHARS_MAX / 4;
  return isShort
    ? { sentences: [last], words: last.words, chars: last.text.length, own: 0 }
    : { sentences: [], words: 0, chars: 0, own: 0 };
}

const fits = (passage: Passage, { words, text }: Sentence): boolean =>
  passage.words + words <= INDEX_PASSAGE_WORDS && passage.chars + text.length <= INDEX_PASSAGE_CHARS_MAX;

const textOf = ({ sentences }: Passage): string =>
  sentences.map(({ gap, text }, at) => (at === 0 ? text : gap + text)).join('');

interface Sentence {
  readonly text: string;
  /** What stands between the one before and this one: an end of line, a blank or nothing. */
  readonly gap: string;
  readonly words: number;
}

function* sentencesOf(text: string): Generator<Sentence> {
  let gap = '';
  for (const [at, piece] of text.split(SENTENCE_END).entries()) {
    const shown = piece.replaceAll(/[^\S\n]+/g, ' ').replaceAll(/ ?\n[ \n]*/g, '\n');
    if (at % 2 === 1) {
      gap = shown.includes('\n') ? '\n' : shown;
      continue;
    }
    const sentence = shown.trim();
    if (sentence === '') continue;
    for (const part of cut(sentence)) {
      yield { text: part, gap, words: wordCountOf(part) };
      gap = ' ';
    }
  }
}

/** Where it is longer than a passage: at blanks where it has some, and never within a character. */
function* cut(sentence: string): Generator<string> {
  if (sentence.length <= INDEX_PASSAGE_CHARS_MAX && wordCountOf(sentence) <= INDEX_PASSAGE_WORDS) return yield sentence;
  let part = '';
  let words = 0;
  for (const [word] of sentence.matchAll(/\S{1,100}\s*/gu)) {
    const more = wordCountOf(word);
    if (words + more > INDEX_PASSAGE_WORDS || part.length + word.length > INDEX_PASSAGE_CHARS_MAX) {
      yield part.trim();
      part = '';
      words = 0;
    }
    part += word;
    words += more;
  }
  if (part.trim() !== '') yield part.trim();
}
