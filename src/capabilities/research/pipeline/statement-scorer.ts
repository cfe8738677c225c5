import { sumNumbers, extractWords } from './page-relevance.ts';
import type { FetchedSite } from './page-relevance.ts';
import type { PageStatement } from './page-statements.ts';
import type { RelevanceTerms } from './relevance-terms.ts';

/** A statement that may become a note. */
export interface NoteCandidate extends PageStatement {
  readonly site: FetchedSite;
  /** Position of the site in the results, from 0. */
  readonly rank: number;
  /** Words of the sentences. */
  readonly words: ReadonlySet<string>;
}

/** Credit for a word that only the headings above a statement contain, or only the title of its page. */
const HEADING_CREDIT = 0.8;
const TITLE_CREDIT = 0.5;

/** Credit for a word by where it stands, compared with a word of the statement itself. */
interface WordCredits {
  readonly heading: number;
  readonly title: number;
}

/** Credit for all words of one part of the question, compared with all words of the question. */
const PART_CREDIT = 0.8;

/** Weights beside the share of the question's words, which is at most 1. */
const SECTION_WEIGHT = 0.1;
const RANK_WEIGHT = 0.05;
const NAME_BONUS = 0.25;
const READER_TALK_PENALTY = 0.05;

/**
 * Least share of the question's words, by weight: relative to the statement that has the most, and absolute. The share
 * that the statement itself has, without headings, is at least the last of them.
 */
const SHARE_OF_BEST_MIN = 0.45;
const SHARE_MIN = 0.25;
const OWN_SHARE_MIN = 0.1;

/**
 * Scores statements by the words of the question that they, their headings and their page's title contain, and orders
 * them by those of the section. Words that few statements contain weigh more. 0 means that a statement is about
 * something else.
 */
export function createStatementScorer(
  { question, parts, section, asksForNames }: RelevanceTerms,
  candidates: readonly NoteCandidate[],
): (statement: NoteCandidate) => number {
  const getHeadingWords = cacheByKey((statement: NoteCandidate) => statement.headings, extractWords);
  const getTitleWords = cacheByKey(({ site }: NoteCandidate) => site.title, extractWords);
  const weigh = (terms: ReadonlyMap<string, number>): readonly (readonly [string, number])[] =>
    [...terms].flatMap(([word, weight]) => {
      const count = candidates.filter((each) => each.words.has(word)).length;
      const isKnown = count > 0 || candidates.some((each) => getHeadingWords(each).has(word));
      // A word without occurrences does not distinguish statements.
      return isKnown ? [[word, weight * Math.log(1 + candidates.length / Math.max(1, count))] as const] : [];
    });
  const createShare = (terms: ReadonlyMap<string, number>, credits: WordCredits) => {
    const weights = weigh(terms);
    const total = sumNumbers(weights.map(([, weight]) => weight));
    return (statement: NoteCandidate): number => {
      const getCredit = (word: string): number => {
        if (statement.words.has(word)) return 1;
        if (getHeadingWords(statement).has(word)) return credits.heading;
        return getTitleWords(statement).has(word) ? credits.title : 0;
      };
      return total === 0 ? 0 : sumNumbers(weights.map(([word, weight]) => weight * getCredit(word))) / total;
    };
  };
  const createBestShare = (credits: WordCredits): ((statement: NoteCandidate) => number) => {
    const whole = createShare(question, credits);
    const ofParts = parts.length > 1 ? parts.map((part) => createShare(part, credits)) : [];
    return (statement) => Math.max(whole(statement), ...ofParts.map((share) => PART_CREDIT * share(statement)));
  };
  const computeShare = createBestShare({ heading: HEADING_CREDIT, title: TITLE_CREDIT });
  const computeOwnShare = createBestShare({ heading: 0.5, title: 0 });
  const computeSectionShare = createShare(section, { heading: HEADING_CREDIT, title: 0 });
  const best = Math.max(0, ...candidates.map(computeShare));
  const least = Math.max(SHARE_MIN, SHARE_OF_BEST_MIN * best);
  return (statement) => {
    const share = computeShare(statement);
    if (share < least || computeOwnShare(statement) < OWN_SHARE_MIN) return 0;
    const text = statement.sentences.join(' ');
    return (
      share +
      SECTION_WEIGHT * computeSectionShare(statement) +
      RANK_WEIGHT / (1 + statement.rank) +
      (asksForNames && CODE_NAME.test(text) ? NAME_BONUS : 0) -
      (READER_TALK.test(text) ? READER_TALK_PENALTY : 0)
    );
  };
}

function cacheByKey<Item>(
  getKey: (item: Item) => string,
  compute: (key: string) => ReadonlySet<string>,
): (item: Item) => ReadonlySet<string> {
  const cache = new Map<string, ReadonlySet<string>>();
  return (item) => {
    const key = getKey(item);
    const value = cache.get(key) ?? compute(key);
    cache.set(key, value);
    return value;
  };
}

/** A name of a setting, an option or a call. */
const CODE_NAME = /\w_\w|[a-z]\.[a-z]|(?:^|\s)--\w|\w\(\)/;

/** Words that address the reader or refer to the writer. */
const READER_TALK = /\b(?:you|your|we|our|us|i|my|i'm|we're|you're)\b/i;
