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

/** Credit for a word of the question that is around a statement, compared with a word in the statement. */
interface WordCredits {
  /** In the headings above it. */
  readonly heading: number;
  /** In the title of its page. */
  readonly title: number;
  /** In every other statement of its section, and of its page. */
  readonly section: number;
  readonly page: number;
}

const STATEMENT_CREDITS: WordCredits = { heading: 0.8, title: 0.5, section: 0, page: 0 };
const SECTION_CREDITS: WordCredits = { heading: 1, title: 0.7, section: 1, page: 0.7 };
const PLAN_CREDITS: WordCredits = { heading: 0.8, title: 0, section: 0, page: 0 };

/** Credit for all words of one part of the question, compared with all words of the question. */
const PART_CREDIT = 0.8;

/** Share of a statement's relevance that its section decides. The rest is its own. */
const SECTION_SHARE = 0.5;

/** Weights beside the relevance, which is at most 1. */
const PLAN_WEIGHT = 0.1;
const RANK_WEIGHT = 0.05;
const NAME_BONUS = 0.25;
const READER_TALK_PENALTY = 0.05;

/** Least relevance: absolute, and relative to the most relevant statement. */
const RELEVANCE_MIN = 0.35;
const RELEVANCE_OF_BEST_MIN = 0.6;

/**
 * Share of the question's words from which a text says something about the question, and the least relevance of a
 * statement whose paragraph or heading does that instead, relative to the most relevant surroundings.
 */
const OWN_SHARE_MIN = 0.1;
const SURROUNDINGS_OF_BEST_MIN = 0.7;

/**
 * Scores statements by the words of the question that they, their headings and their page's title contain, and by how
 * much their section is about these words; orders them by the words of the plan's section. A statement without any such
 * word counts if its paragraph explains the question and it is understandable alone. 0 means that a statement is about
 * something else. Scores of different queries are comparable, because the question weighs its words.
 */
export function createStatementScorer(
  { question, parts, section, asksForNames }: RelevanceTerms,
  candidates: readonly NoteCandidate[],
): (statement: NoteCandidate) => number {
  const measureAround = createSurroundings(candidates);
  const isRepeated = createRepetitionCheck(candidates);
  const ofParts = parts.length > 1 ? parts : [];
  const createBestShare = (credits: WordCredits): ShareOf => {
    const whole = createShare(question, credits, measureAround);
    const shares = ofParts.map((part) => createShare(part, credits, measureAround));
    return (statement, words) =>
      Math.max(whole(statement, words), ...shares.map((share) => PART_CREDIT * share(statement, words)));
  };
  const share = createBestShare(STATEMENT_CREDITS);
  const shareOfSection = createBestShare(SECTION_CREDITS);
  const shareOfPlan = createShare(section, PLAN_CREDITS, measureAround);
  const computeRelevance = (statement: NoteCandidate, words: ReadonlySet<string>): number =>
    SECTION_SHARE * shareOfSection(statement, NO_WORDS) + (1 - SECTION_SHARE) * share(statement, words);
  const relevances = new Map(candidates.map((each) => [each, computeRelevance(each, each.words)]));
  const best = Math.max(0, ...relevances.values());
  const least = Math.max(RELEVANCE_MIN, RELEVANCE_OF_BEST_MIN * best);
  const bestAround = Math.max(0, ...candidates.map((each) => computeRelevance(each, NO_WORDS)));
  const hasQuestionWords = cacheByKey(
    (text: string) => text,
    (text) => shareOfWords(question, extractWords(text)) >= OWN_SHARE_MIN,
  );
  const isExplanation = (statement: NoteCandidate, relevance: number): boolean =>
    relevance >= SURROUNDINGS_OF_BEST_MIN * bestAround &&
    hasQuestionWords(`${statement.headings.split('\n').at(-1) ?? ''}\n${statement.context}`) &&
    !REFERENCE_WORD.test(statement.sentences.join(' ')) &&
    !isRepeated(statement);
  return (statement) => {
    const relevance = relevances.get(statement) ?? 0;
    if (relevance < least) return 0;
    if (shareOfWords(question, statement.words) < OWN_SHARE_MIN && !isExplanation(statement, relevance)) return 0;
    const text = statement.sentences.join(' ');
    return (
      relevance +
      PLAN_WEIGHT * shareOfPlan(statement, statement.words) +
      RANK_WEIGHT / (1 + statement.rank) +
      (asksForNames && CODE_NAME.test(text) ? NAME_BONUS : 0) -
      (READER_TALK.test(text) ? READER_TALK_PENALTY : 0)
    );
  };
}

const NO_WORDS: ReadonlySet<string> = new Set();

/** Returns the share of some terms that words or the surroundings of a statement contain, by weight, from 0 to 1. */
type ShareOf = (statement: NoteCandidate, words: ReadonlySet<string>) => number;

function createShare(terms: ReadonlyMap<string, number>, credits: WordCredits, measureAround: Surroundings): ShareOf {
  const total = sumNumbers(terms.values());
  return (statement, words) => {
    if (total === 0) return 0;
    const points = [...terms].map(
      ([word, weight]) => weight * (words.has(word) ? 1 : measureAround(statement, word, credits)),
    );
    return sumNumbers(points) / total;
  };
}

const shareOfWords = (terms: ReadonlyMap<string, number>, words: ReadonlySet<string>): number =>
  sumNumbers([...terms].map(([word, weight]) => (words.has(word) ? weight : 0))) /
  Math.max(Number.MIN_VALUE, sumNumbers(terms.values()));

/** Returns the credit for a word that is around a statement. */
type Surroundings = (statement: NoteCandidate, word: string, credits: WordCredits) => number;

function createSurroundings(candidates: readonly NoteCandidate[]): Surroundings {
  const getHeadingWords = cacheByKey(
    ({ headings }: NoteCandidate) => headings,
    (statement) => extractWords(statement.headings),
  );
  const getTitleWords = cacheByKey(
    ({ site }: NoteCandidate) => site.title,
    ({ site }) => extractWords(site.title),
  );
  const measureInSection = createDensity(candidates, ({ site, headings }) => `${site.number} ${headings}`);
  const measureInPage = createDensity(candidates, ({ site }) => `${site.number}`);
  return (statement, word, { heading, title, section, page }) =>
    Math.max(
      getHeadingWords(statement).has(word) ? heading : 0,
      getTitleWords(statement).has(word) ? title : 0,
      section * measureInSection(statement, word),
      page * measureInPage(statement, word),
    );
}

/** Share of the statements of a text that name its subject. */
const SUBJECT_DENSITY = 0.4;

/** Creates the function that returns how much the statements of a statement's group are about a word, from 0 to 1. */
function createDensity(
  candidates: readonly NoteCandidate[],
  getGroup: (statement: NoteCandidate) => string,
): (statement: NoteCandidate, word: string) => number {
  const groups = Map.groupBy(candidates, getGroup);
  const countsByGroup = new Map(
    [...groups].map(([group, statements]) => {
      const counts = new Map<string, number>();
      for (const { words } of statements) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
      return [group, counts];
    }),
  );
  return (statement, word) => {
    const group = getGroup(statement);
    const size = groups.get(group)?.length ?? 0;
    return Math.min(1, (countsByGroup.get(group)?.get(word) ?? 0) / Math.max(1, SUBJECT_DENSITY * size));
  };
}

/** Creates the function that reports whether another page has the same statement, as footers are on every page. */
function createRepetitionCheck(candidates: readonly NoteCandidate[]): (statement: NoteCandidate) => boolean {
  const sitesByText = new Map<string, Set<number>>();
  for (const { sentences, site } of candidates) {
    const text = sentences[0] ?? '';
    sitesByText.set(text, (sitesByText.get(text) ?? new Set<number>()).add(site.number));
  }
  return ({ sentences }) => (sitesByText.get(sentences[0] ?? '')?.size ?? 0) > 1;
}

function cacheByKey<Item, Value>(
  getKey: (item: Item) => string,
  compute: (item: Item) => Value,
): (item: Item) => Value {
  const cache = new Map<string, { readonly value: Value }>();
  return (item) => {
    const key = getKey(item);
    const entry = cache.get(key) ?? { value: compute(item) };
    cache.set(key, entry);
    return entry.value;
  };
}

/** Words that refer to another sentence. */
const REFERENCE_WORD =
  /\b(?:it|its|they|them|their|this|that|these|those|such|same|ones?|former|latter|others?|another|here|there|also|however|otherwise|instead|again|then|thus|so)\b/i;

/** A name of a setting, an option or a call. */
const CODE_NAME = /\w_\w|[a-z]\.[a-z]|(?:^|\s)--\w|\w\(\)/;

/** Words that address the reader or refer to the writer. */
const READER_TALK = /\b(?:you|your|we|our|us|i|my|i'm|we're|you're)\b/i;
