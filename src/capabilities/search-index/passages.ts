import { INDEX_PASSAGE_CHARS_MAX, INDEX_PASSAGE_WORDS } from './limits.ts';
import { countWords } from './terms.ts';

/** A passage with at least this many words ends before a heading. */
const WORDS_BEFORE_HEADING_MIN = INDEX_PASSAGE_WORDS / 4;

/**
 * Ends of sentences with the following white space, if the script has any; ends of paragraphs, list items and table
 * rows.
 */
const SENTENCE_END = /((?<=[.!?…]["')\]]?)\s+|(?<=[。！？])\s*|\n\s*\n\s*|\n(?=[-*#|>\d]))/u;

const HEADING = /^(#{1,6}) (?=\S)/;

/** A part of a text, and where it stands. */
export interface TextPassage {
  readonly text: string;
  /** Headings of the sections in which the passage starts, outermost first, without `#`. */
  readonly headings: readonly string[];
}

/**
 * Splits a text into passages of about INDEX_PASSAGE_WORDS words. Each passage starts with the last sentence of the
 * previous one, so that a statement across their border is found; a sentence longer than a passage is cut.
 */
export function* splitPassages(text: string): Generator<TextPassage> {
  const sections = createSectionPath();
  let passage = startPassage();
  let headings: readonly string[] = [];
  for (const sentence of splitSentences(text)) {
    const isHeading = HEADING.test(sentence.text);
    if (!fits(passage, sentence) || (isHeading && passage.words >= WORDS_BEFORE_HEADING_MIN)) {
      if (passage.newSentences > 0) yield { text: joinSentences(passage), headings };
      passage = startPassage(passage.sentences.at(-1));
    }
    if (isHeading) sections.enter(sentence.text);
    if (passage.newSentences === 0) headings = sections.get();
    // Do not repeat the previous sentence before a heading, or where the passage would become too long.
    if (passage.newSentences === 0 && (isHeading || !fits(passage, sentence))) passage = startPassage();
    passage.sentences.push(sentence);
    passage.words += sentence.words;
    passage.chars += sentence.gap.length + sentence.text.length;
    passage.newSentences++;
  }
  if (passage.newSentences > 0) yield { text: joinSentences(passage), headings };
}

/** Tracks the headings of the current section and of those around it. */
function createSectionPath(): { enter(heading: string): void; get(): readonly string[] } {
  let path: readonly { readonly level: number; readonly text: string }[] = [];
  return {
    enter(heading) {
      const level = HEADING.exec(heading)?.[1]?.length ?? 1;
      const text = heading.slice(level + 1).trim();
      path = [...path.filter((outer) => outer.level < level), { level, text }];
    },
    get: () => path.map(({ text }) => text),
  };
}

interface Passage {
  readonly sentences: Sentence[];
  words: number;
  chars: number;
  /** Number of sentences that no earlier passage contains. */
  newSentences: number;
}

/** @param previous Last sentence of the previous passage; repeated only if it is short. */
function startPassage(previous?: Sentence): Passage {
  const isShort =
    previous && previous.words <= INDEX_PASSAGE_WORDS / 4 && previous.text.length <= INDEX_PASSAGE_CHARS_MAX / 4;
  return isShort
    ? { sentences: [previous], words: previous.words, chars: previous.text.length, newSentences: 0 }
    : { sentences: [], words: 0, chars: 0, newSentences: 0 };
}

const fits = (passage: Passage, { words, text }: Sentence): boolean =>
  passage.words + words <= INDEX_PASSAGE_WORDS && passage.chars + text.length <= INDEX_PASSAGE_CHARS_MAX;

const joinSentences = ({ sentences }: Passage): string =>
  sentences.map(({ gap, text }, at) => (at === 0 ? text : gap + text)).join('');

interface Sentence {
  readonly text: string;
  /** White space before the sentence: a line break, a space or nothing. */
  readonly gap: string;
  readonly words: number;
}

function* splitSentences(text: string): Generator<Sentence> {
  let gap = '';
  for (const [at, piece] of text.split(SENTENCE_END).entries()) {
    const normalized = piece.replaceAll(/[^\S\n]+/g, ' ').replaceAll(/ ?\n[ \n]*/g, '\n');
    if (at % 2 === 1) {
      gap = normalized.includes('\n') ? '\n' : normalized;
      continue;
    }
    const sentence = normalized.trim();
    if (sentence === '') continue;
    for (const part of splitLongSentence(sentence)) {
      yield { text: part, gap, words: countWords(part) };
      gap = ' ';
    }
  }
}

/** Cuts a sentence that is longer than a passage, at spaces if it has any and never within a character. */
function* splitLongSentence(sentence: string): Generator<string> {
  if (sentence.length <= INDEX_PASSAGE_CHARS_MAX && countWords(sentence) <= INDEX_PASSAGE_WORDS) return yield sentence;
  let part = '';
  let words = 0;
  for (const [word] of sentence.matchAll(/\S{1,100}\s*/gu)) {
    const more = countWords(word);
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
