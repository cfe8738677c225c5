import { CITATION_QUOTE_CHARS_MAX, CITATION_SOURCE_CHARS_MAX } from '../limits.ts';
import { readClaimTerms, type ClaimTerms } from './claim-terms.ts';
import { readClaims, isUnspaced, readVocabulary, type Claims } from './claims.ts';
import { readIdentifiers } from './identifiers.ts';
import { findContradiction } from './contradiction.ts';
import { hasKnownNegations } from './negations.ts';
import { createPassageSentences, type PassageSentence, type PassageSentences } from './passage-sentences.ts';

/** How well a passage supports a sentence. */
export interface PassageMatch {
  /** A sentence of the passage says the same, as far as words, names, numbers, negations and their order show. */
  readonly isSupported: boolean;
  /** Share of the sentence's content words that the nearest sentence of the passage has, 0 to 1. */
  readonly wordShare: number;
}

/** A text that sentences are compared with; it is analyzed once. */
export interface Passage {
  compareSentence(sentence: string): PassageMatch;
  /**
   * Whether the passage supports the sentence so clearly that it may be cited although the model did not cite it. False
   * for languages whose negations are unknown.
   */
  clearlySupports(sentence: string): boolean;
  /** Returns the most similar sentence of the passage, cut to CITATION_QUOTE_CHARS_MAX. */
  findNearestSentence(sentence: string): string;
}

/** Share of a sentence's words that one sentence of its source must have. Parley's threshold. */
const SHARE_MIN = 0.6;

/** Credit for a word that the evidence has only by its heading, the title or the sentence that it depends on. */
const GIVEN_CREDIT = 0.8;
/** Credit for a word of the sentences before and after the evidence. */
const CONTEXT_CREDIT = 0.25;

/** Weight of pairs of neighboring words, which tell sentences with the same words apart. */
const PAIRS_WEIGHT = 0.3;

/** A sentence without the claim's numbers is less similar by this. */
const NUMBER_PENALTY = 0.3;

/** Thresholds for a sentence without a mark: share of words; words and numbers. */
const CLEAR_SHARE_MIN = 0.8;
const CLEAR_WORDS_MIN = 4;
/** Pairs of characters instead of words for scripts without spaces; several pairs make a word. */
const CLEAR_PAIRS_MIN = 6;

/** Sentences of a passage that are compared in detail. */
const CANDIDATES_MAX = 4;

interface Candidate extends PassageMatch {
  readonly text: string;
  readonly similarity: number;
}

/**
 * Creates a passage from the first CITATION_SOURCE_CHARS_MAX characters of a text.
 *
 * @param title Its words support sentences too, but it is never quoted.
 */
export function createPassage(text: string, title = ''): Passage {
  const citedText = text.slice(0, CITATION_SOURCE_CHARS_MAX);
  const titleWords = readVocabulary(title).words;
  let cached: PassageSentences | undefined;
  let cachedNegations: boolean | undefined;
  const canFindNegations = (): boolean => (cachedNegations ??= hasKnownNegations(citedText));
  const getSentences = (): PassageSentences => (cached ??= createPassageSentences(citedText));

  const findBest = (sentence: string): Candidate | undefined => {
    const claims = readClaims(sentence);
    const terms = readClaimTerms(sentence);
    const identifiers = readIdentifiers(sentence);
    const sentences = getSentences();
    const candidates = rankSentences(claims, sentences).map((at): Candidate => {
      const evidence = sentences.get(at);
      const isGiven = (word: string): boolean => evidence.givenWords.has(word) || titleWords.has(word);
      const wordShare = computeShare(claims.words, evidence, isGiven);
      const isElsewhere = createNeighborCheck(terms, at, sentences);
      const hasOtherNumber = evidence.hasOtherNumber(sentence);
      const isSupported =
        isQuote(sentence, evidence.text) ||
        (wordShare >= SHARE_MIN &&
          hasNames(claims, evidence, isGiven) &&
          [...identifiers].every((name) => evidence.identifiers.has(name)) &&
          !hasOtherNumber &&
          findContradiction(terms, { terms: evidence.terms, isGiven, isElsewhere }) === undefined);
      return {
        text: evidence.text,
        isSupported,
        wordShare,
        similarity:
          wordShare + PAIRS_WEIGHT * computePairShare(terms, evidence.terms) - (hasOtherNumber ? NUMBER_PENALTY : 0),
      };
    });
    const most = Math.max(0, ...candidates.map(({ similarity }) => similarity));
    return candidates
      .filter(({ similarity }) => similarity === most)
      .toSorted((a, b) => Number(b.isSupported) - Number(a.isSupported) || b.similarity - a.similarity)[0];
  };

  return {
    compareSentence(sentence) {
      const { isSupported, wordShare } = findBest(sentence) ?? NO_MATCH;
      return { isSupported, wordShare };
    },
    clearlySupports(sentence) {
      const { words, numbers } = readClaims(sentence);
      if (words.size + numbers.size < (isUnspaced(sentence) ? CLEAR_PAIRS_MIN : CLEAR_WORDS_MIN)) return false;
      if (!canFindNegations()) return false;
      const { isSupported, wordShare } = findBest(sentence) ?? NO_MATCH;
      return isSupported && wordShare >= CLEAR_SHARE_MIN;
    },
    findNearestSentence: (sentence) =>
      (findBest(sentence)?.text ?? citedText.trim()).slice(0, CITATION_QUOTE_CHARS_MAX),
  };
}

const NO_MATCH: PassageMatch = { isSupported: false, wordShare: 0 };

/** Whether a sentence stands in another one word for word. */
function isQuote(sentence: string, source: string): boolean {
  const [words = '', evidenceTerms = ''] = [sentence, source].map(
    (text) =>
      ` ${
        text
          .toLowerCase()
          .match(/[\p{L}\p{N}]+/gu)
          ?.join(' ') ?? ''
      } `,
  );
  return words.length > QUOTE_CHARS_MIN && evidenceTerms.includes(words);
}

/** A shorter quote may be a part that says something else than the whole. */
const QUOTE_CHARS_MIN = 40;

/** Returns the positions of the sentences with the most words, names and numbers of a claim. */
function rankSentences({ words, names, numbers }: Claims, sentences: PassageSentences): readonly number[] {
  const scores = new Map<number, number>();
  const add = (keys: ReadonlySet<string>, weight: number): void => {
    for (const key of keys) for (const at of sentences.find(key)) scores.set(at, (scores.get(at) ?? 0) + weight);
  };
  add(words, 1);
  add(names, 1);
  add(numbers, 2);
  return [...scores]
    .toSorted(([at, score], [otherAt, otherScore]) => otherScore - score || at - otherAt)
    .slice(0, CANDIDATES_MAX)
    .map(([at]) => at);
}

function computeShare(
  words: ReadonlySet<string>,
  { words: own, contextWords }: PassageSentence,
  isGiven: (word: string) => boolean,
): number {
  if (words.size === 0) return 0;
  let credit = 0;
  for (const word of words)
    if (own.has(word)) credit += 1;
    else if (isGiven(word)) credit += GIVEN_CREDIT;
    else if (contextWords.has(word)) credit += CONTEXT_CREDIT;
  return credit / words.size;
}

/** Returns the share of pairs of neighboring terms that are neighbors in the evidence too, in either order. */
function computePairShare({ terms }: ClaimTerms, { terms: evidenceTerms }: ClaimTerms): number {
  const toPairs = (list: readonly string[]): ReadonlySet<string> =>
    new Set(list.slice(1).map((term, at) => [list[at] ?? '', term].toSorted().join(' ')));
  const pairs = toPairs(terms);
  return pairs.size === 0 ? 0 : pairs.intersection(toPairs(evidenceTerms)).size / pairs.size;
}

/** Requires each name of a claim in the evidence, or where the evidence takes its names from. */
function hasNames(
  { names, words }: Claims,
  { words: own, contextWords, names: evidenceNames }: PassageSentence,
  isGiven: (word: string) => boolean,
): boolean {
  // A sentence about another name does not become one about this name.
  const isAboutOther = !evidenceNames.isSubsetOf(words);
  return [...names].every((name) => own.has(name) || isGiven(name) || (!isAboutOther && contextWords.has(name)));
}

/** Sentences before and after the evidence that a claim may be confused with. */
const NEIGHBORS_MAX = 10;
/** Words that a claim shares with such a sentence, including the one that the evidence does not have. */
const NEIGHBOR_TERMS_MIN = 2;

/** Creates the check whether a term comes from a sentence near the evidence that is about the same things. */
const createNeighborCheck =
  (terms: ClaimTerms, evidenceAt: number, sentences: PassageSentences) =>
  (term: string): boolean => {
    const first = Math.max(0, evidenceAt - NEIGHBORS_MAX);
    const last = Math.min(sentences.count - 1, evidenceAt + NEIGHBORS_MAX);
    for (let at = first; at <= last; at++) {
      if (at === evidenceAt) continue;
      const { keys } = sentences.get(at).terms;
      if (keys.has(term) && keys.intersection(terms.keys).size >= NEIGHBOR_TERMS_MIN) return true;
    }
    return false;
  };
