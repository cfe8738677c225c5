import { isCommonWord, isUnspaced, readClaims, readVocabulary } from '../../../generation/citations/claims.ts';
import type { PlanSection } from './step-record.ts';
import type { Topic } from './topic.ts';

/** Word stems that make a page and a sentence relevant, with their weights. */
export interface RelevanceTerms {
  /** The user's question: a sentence without enough of these words is about something else. */
  readonly question: ReadonlyMap<string, number>;
  /** Words of each part of the question and of the user's answer; a sentence may be about one part only. */
  readonly parts: readonly ReadonlyMap<string, number>[];
  /** The section of the plan, whose words decide among sentences on the question. */
  readonly section: ReadonlyMap<string, number>;
  /** The query, whose words find pages. */
  readonly query: ReadonlyMap<string, number>;
  /** The question as the user wrote it. */
  readonly questionText: string;
  /** The question asks for names, such as those of settings or commands. */
  readonly asksForNames: boolean;
}

/**
 * Weighs the words of a question by the titles of the pages that the question finds. A word that most titles contain, such
 * as the name of the product, says where the question applies. Words that name one of the best pages are its subject: of
 * `How does git bisect find a commit?`, `bisect`, if there is a page of that name.
 *
 * @param titles Best first.
 */
export function weighByTitles(terms: RelevanceTerms, titles: readonly string[]): RelevanceTerms {
  const titleWords = titles.map(toRoots);
  const countTitles = (word: string): number => titleWords.filter((words) => words.has(word)).length;
  const scope = new Set(
    titles.length < SCOPE_TITLES_MIN
      ? []
      : [...new Set(titleWords.flatMap((words) => [...words]))].filter(
          (word) => countTitles(word) >= SCOPE_SHARE_MIN * titles.length,
        ),
  );
  const questionWords = toRoots(terms.questionText).difference(scope);
  const subject = new Set(
    titleWords.slice(0, LEAD_TITLES).flatMap((words) => {
      const own = words.difference(scope);
      const common = own.intersection(questionWords);
      return common.size >= SUBJECT_SHARE_MIN * own.size ? [...common] : [];
    }),
  );
  const weigh = (weights: ReadonlyMap<string, number>): ReadonlyMap<string, number> =>
    [...weights.keys()].every((term) => scope.has(term))
      ? weights
      : new Map(
          [...weights].map(([term, weight]) => {
            if (scope.has(term)) return [term, Math.min(weight, SCOPE_WEIGHT)] as const;
            return [term, isNamed(term, subject) ? SUBJECT_WEIGHT * weight : weight] as const;
          }),
        );
  return { ...terms, question: weigh(terms.question), parts: terms.parts.map(weigh) };
}

/** Share of the titles that contain a word of the scope, and the number of titles from which shares say something. */
const SCOPE_SHARE_MIN = 0.6;
const SCOPE_TITLES_MIN = 5;

/** Pages of which a title may name the subject, and the share of its words that the question contains. */
const LEAD_TITLES = 3;
const SUBJECT_SHARE_MIN = 0.5;
const SUBJECT_WEIGHT = 2;

const toRoots = (text: string): ReadonlySet<string> => new Set([...readVocabulary(text).words].map(toRoot));

const isNamed = (term: string, subject: ReadonlySet<string>): boolean =>
  subject.has(term) || (term.includes('-') && toRoots(term).isSubsetOf(subject));

export function createRelevanceTerms({ topic, focus }: Topic, section: PlanSection, query: string): RelevanceTerms {
  const scope = new Set([...readVocabulary(findScope(topic)).words].map(toRoot));
  const weigh = (text: string): ReadonlyMap<string, number> => {
    const terms = extractSubject(text);
    const hasOtherTerms = [...terms.keys()].some((term) => !scope.has(term));
    if (!hasOtherTerms) return terms;
    return new Map([...terms].map(([term, weight]) => [term, scope.has(term) ? SCOPE_WEIGHT : weight]));
  };
  const parts = [...joinParts(topic.split(QUESTION_PART_END)), ...focus.split(ANSWER_PART_END)].map(weigh);
  return {
    question: weighRepeated(weigh(`${topic}\n${focus}`), `${topic}\n${focus}`),
    parts: parts.filter((part) => [...part.keys()].some((term) => !scope.has(term))),
    section: extractSubject(`${section.heading}. ${section.goal}. ${section.query}`),
    query: extractSubject(query),
    questionText: `${topic} ${focus}`.trim(),
    asksForNames: ASKS_FOR_NAMES.test(`${topic} ${focus} ${section.goal}`),
  };
}

/**
 * Joins a part with the part before it if it has a pronoun, such as `how can it be automated`, or a single word of its
 * own, such as `which parameters control the schedule`: the word alone would find schedules of other things.
 */
const joinParts = (parts: readonly string[]): readonly string[] =>
  parts.map((part, at) =>
    at > 0 && (PRONOUN.test(part) || extractSubject(part).size === 1) ? `${parts[at - 1]} ${part}` : part,
  );

const PRONOUN = /\b(?:it|its|they|them|their|this|these)\b/i;

/** A word that the question repeats is what it is about. */
function weighRepeated(terms: ReadonlyMap<string, number>, text: string): ReadonlyMap<string, number> {
  const words = [...text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)].flatMap(([word]) => [...toRoots(word)]);
  return new Map(
    [...terms].map(([term, weight]) => {
      const count = words.filter((word) => word === term).length;
      return [term, weight * Math.max(1, Math.min(REPETITIONS_MAX, count))] as const;
    }),
  );
}

const REPETITIONS_MAX = 2;

const QUESTION_PART_END = /[;；。？?]|,?\s+and\s+(?=(?:how|what|which|why|when|where|who)\b)/i;
const ANSWER_PART_END = /[,;.，、；。]|\s+(?:and|or)\s+|[和与及]/i;

/** Weight of a name that says where the question applies, such as the product whose documentation is searched. */
const SCOPE_WEIGHT = 0.25;

/**
 * Finds the name of a system in `How does NAME keep its data?` and `How is data kept in NAME?`. In `How is TLS enabled?`,
 * the name is the subject.
 */
const findScope = (question: string): string =>
  [...question.matchAll(SCOPE)].map(({ groups }) => groups?.['actor'] ?? groups?.['place'] ?? '').join(' ');

const SCOPE =
  /\b(?:do|does|did|can|will|should)\s+(?:an?\s+|the\s+)?(?<actor>\p{Lu}[\p{L}\p{N}]*)\s+(?!do\b|work|differ|mean|happen|and\b|or\b|in\b|of\b)\p{Ll}|\b(?:in|of|with|by|for|from|an?)\s+(?:an?\s+|the\s+)?(?<place>\p{Lu}[\p{L}\p{N}]*)(?=\s*(?:[?,.;]|$|\s\p{Ll}))/gu;

/** Returns the words of the question that no sentence contains, as the user wrote them. */
export function listMissingWords({ topic, focus }: Topic, sentences: readonly string[]): readonly string[] {
  const question = `${topic}\n${focus}`;
  if (isUnspaced(question)) return [];
  const subject = extractSubject(question);
  const { words, numbers } = readVocabulary(sentences.join('\n'));
  const written = new Set([...words].map(toRoot)).union(numbers).union(findCompounds(sentences.join('\n')));
  const missing = (question.match(/[\p{L}\p{N}][\p{L}\p{N}_-]*/gu) ?? []).filter((word) => {
    const terms = extractSubject(word);
    return [...terms.keys()].some((term) => subject.has(term)) && written.isDisjointFrom(new Set(terms.keys()));
  });
  return [...new Map(missing.map((word) => [word.toLowerCase(), word])).values()];
}

const ASKS_FOR_NAMES =
  /\b(?:settings?|parameters?|options?|commands?|functions?|methods?|flags?|variables?|classes|modules?|pragmas?|directives?|configur\w+)\b/i;

/** Weight of names, which characterize a subject better than other words. */
const NAME_WEIGHT = 2;

/**
 * Extracts the terms of a subject without generic words. A compound such as `fast-check` counts as a whole, not by its
 * parts.
 */
function extractSubject(text: string): ReadonlyMap<string, number> {
  const { names } = readClaims(text);
  const compounds = findCompounds(text);
  const parts = extractTerms([...compounds].join(' ').replaceAll('-', ' '));
  const terms = extractTerms(text)
    .difference(GENERIC_WORDS)
    .difference(compounds.size > 0 ? parts : NO_WORDS);
  return new Map([
    ...[...compounds].map((compound) => [compound, NAME_WEIGHT] as const),
    ...[...terms].map((term) => [toRoot(term), names.has(term) ? NAME_WEIGHT : 1] as const),
  ]);
}

/** Returns the part of a stem that related words share: `collect` of `collector` and `collection`. */
export const toRoot = (stem: string): string => stem.replace(/(?<=\p{L}{5})(?:ation|ion|or|er|iv|ment|al|ic)$/u, '');

const NO_WORDS: ReadonlySet<string> = new Set();

/** Finds hyphenated words. The length is bounded, because an endless word would be scanned from each of its letters. */
export const findCompounds = (text: string): ReadonlySet<string> =>
  new Set(
    (text.match(/\p{L}[\p{L}\p{N}]{0,40}(?:-[\p{L}\p{N}]{1,40}){1,8}/gu) ?? []).map((word) => word.toLowerCase()),
  );

/** Words that ask for something and do not say about what. */
const GENERIC_WORDS = readVocabulary(
  'how what which why who when where explain describe compare overview feature features use used using method limit limits example background performance risk work works way ways thing handle kind type types ' +
    'different difference best good does happen happens need needed prevent control controls setting settings option options parameter parameters command commands directive directives enable enabled disable disabled configure configuration mean means ' +
    'make possible available support supported behave behavior change changes affect affects between find list name names purpose reason tell show',
).words;

const SHORT_WORD = /(?<![\p{L}\p{N}])[\p{Ll}\p{Lu}]{2,3}(?![\p{L}\p{N}])/gu;

/** Returns the content words, also short ones such as `gc`; all words when there are hardly any content words. */
function extractTerms(text: string): ReadonlySet<string> {
  const { words, numbers } = readClaims(text);
  const shortWords = (text.match(SHORT_WORD) ?? []).filter((word) => !isCommonWord(word));
  const terms = words.union(numbers).union(readVocabulary(shortWords.join(' ')).words);
  return terms.size > 1 ? terms : readVocabulary(text).words;
}
