import { CITED_SENTENCE_CHARS_MAX } from '../limits.ts';
import { type ClaimTerms, readClaimTerms } from './claim-terms.ts';
import { readClaims, readVocabulary } from './claims.ts';
import { dependsOnPrevious } from './depends-on-previous.ts';
import { readIdentifiers } from './identifiers.ts';
import { createNumberCheck, type NumberCheck } from './number-check.ts';

/** A sentence of a source as evidence for a claim. It is analyzed when it is first compared. */
export interface PassageSentence {
  readonly text: string;
  /** Content words of the sentence. */
  readonly words: ReadonlySet<string>;
  /** Content words of the sentences before and after it in its paragraph. */
  readonly contextWords: ReadonlySet<string>;
  /** Content words of its heading and of the sentences without which it is not understandable. */
  readonly givenWords: ReadonlySet<string>;
  readonly names: ReadonlySet<string>;
  /** Names of code in the sentence, in its heading and in the sentences that it depends on. */
  readonly identifiers: ReadonlySet<string>;
  readonly terms: ClaimTerms;
  /** Compares numbers with those of the sentence and of the sentences that it depends on. */
  readonly hasOtherNumber: NumberCheck;
}

/** The sentences of a source. */
export interface PassageSentences {
  readonly count: number;
  get(at: number): PassageSentence;
  /** Positions of the sentences that contain a word or a number. */
  find(key: string): readonly number[];
}

export function createPassageSentences(text: string): PassageSentences {
  const texts = splitSentences(text);
  const positions = new Map<string, number[]>();
  for (const [at, { words, numbers }] of texts.entries())
    for (const key of words.union(numbers)) {
      const known = positions.get(key);
      if (known) known.push(at);
      else positions.set(key, [at]);
    }
  const analyzed = new Map<number, PassageSentence>();
  const headings = findHeadings(texts);
  const isNear = (at: number, other: number): boolean => texts[at]?.paragraph === texts[other]?.paragraph;

  /** Returns the sentences that a sentence depends on, nearest first. */
  const findAntecedents = (at: number): readonly SplitSentence[] => {
    const antecedents: SplitSentence[] = [];
    for (let current = at; antecedents.length < ANTECEDENTS_MAX; current--) {
      const [sentence, previous] = [texts[current], texts[current - 1]];
      if (!sentence || !previous || !isNear(current, current - 1) || !dependsOnPrevious(sentence.text)) break;
      antecedents.push(previous);
    }
    return antecedents;
  };

  const analyze = (at: number): PassageSentence => {
    const { text: sentence = '', words = NO_WORDS } = texts[at] ?? {};
    const antecedents = findAntecedents(at);
    const given = [...antecedents, texts[headings[at] ?? -1] ?? []].flat();
    const around = [at - 1, at + 1].flatMap((each) => (isNear(at, each) ? (texts[each] ?? []) : []));
    return {
      text: sentence,
      words,
      contextWords: joinWords([...around, ...antecedents]),
      givenWords: joinWords(given),
      names: readClaims(sentence).names,
      identifiers: readIdentifiers([sentence, ...given.map((each) => each.text)].join('\n')),
      terms: readClaimTerms(sentence),
      hasOtherNumber: createNumberCheck([...antecedents.map((each) => each.text), sentence].join('\n')),
    };
  };

  return {
    count: texts.length,
    get(at) {
      const sentence = analyzed.get(at) ?? analyze(at);
      analyzed.set(at, sentence);
      return sentence;
    },
    find: (key) => positions.get(key) ?? [],
  };
}

/** Returns for each sentence the position of the heading above it: a short line without a full stop. */
function findHeadings(sentences: readonly SplitSentence[]): readonly (number | undefined)[] {
  let heading: number | undefined;
  return sentences.map(({ text }, at) => {
    if (text.length > HEADING_CHARS_MAX || /[.!?:;,。！？：；，]$/.test(text)) return heading;
    heading = at;
    return undefined;
  });
}

const HEADING_CHARS_MAX = 80;

/** Sentences that a chain of `It …` and `This …` may refer to. */
const ANTECEDENTS_MAX = 2;

const NO_WORDS: ReadonlySet<string> = new Set();

interface SplitSentence {
  readonly text: string;
  readonly paragraph: number;
  readonly words: ReadonlySet<string>;
  readonly numbers: ReadonlySet<string>;
}

const joinWords = (sentences: readonly SplitSentence[]): ReadonlySet<string> =>
  new Set(sentences.flatMap(({ words, numbers }) => [...words, ...numbers]));

/**
 * Splits a text into sentences. An empty line separates paragraphs; a line that only wraps the text does not. A longer
 * sentence than a claim can be is split, so that a text without full stops does not cost more than another one.
 */
function splitSentences(text: string): readonly SplitSentence[] {
  const segmenter = new Intl.Segmenter('und', { granularity: 'sentence' });
  const sentences: SplitSentence[] = [];
  for (const [paragraph, lines] of text.split(/\n\s*\n/).entries())
    for (const line of joinWrappedLines(lines.split('\n')))
      for (const { segment } of segmenter.segment(line))
        for (const part of splitLongText(segment)) {
          const sentence = part.trim();
          if (sentence !== '') sentences.push({ text: sentence, paragraph, ...readVocabulary(sentence) });
        }
  return sentences;
}

/** Splits a text into parts of at most CITED_SENTENCE_CHARS_MAX characters, between words where there are spaces. */
function splitLongText(text: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  while (text.length - start > CITED_SENTENCE_CHARS_MAX) {
    const limit = start + CITED_SENTENCE_CHARS_MAX;
    const space = text.lastIndexOf(' ', limit);
    const end = space > start ? space : limit;
    parts.push(text.slice(start, end));
    start = end;
  }
  return [...parts, text.slice(start)];
}

/** Joins a line that starts with a small letter with the line before it. */
function joinWrappedLines(lines: readonly string[]): readonly string[] {
  const joined: string[] = [];
  /** Lines that belong together, and their characters with a space after each. */
  let parts: string[] = [];
  let length = 0;
  const finish = (): void => {
    if (parts.length > 0) joined.push(parts.join(' '));
    parts = [];
    length = 0;
  };
  for (const line of lines) {
    const text = line.trim();
    const last = parts.at(-1);
    const isWrapped =
      last !== undefined &&
      (/^\p{Ll}/u.test(text) || length > WRAPPED_LINE_CHARS_MIN) &&
      /[^.!?:。！？|]$/.test(last.slice(-1)) &&
      !/^(?:[-*+#|>•]|\d{1,3}[.)])/.test(text);
    if (!isWrapped) finish();
    parts.push(text);
    length += text.length + 1;
  }
  finish();
  return joined;
}

/** A line this long without a full stop is wrapped, whatever the next line starts with. */
const WRAPPED_LINE_CHARS_MIN = 60;
