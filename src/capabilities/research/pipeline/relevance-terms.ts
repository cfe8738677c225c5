import { readClaims, readVocabulary } from '../../../generation/citations/claims.ts';
import type { PlanSection } from './step-record.ts';
import type { Topic } from './topic.ts';

/** Word stems that make a page and a sentence relevant to a query. */
export interface RelevanceTerms {
  /** Weight of each term for sentences. */
  readonly weights: ReadonlyMap<string, number>;
  /** Weights of the terms of the topic, and of the query. A page with few terms of both is about another subject. */
  readonly subject: { readonly topic: ReadonlyMap<string, number>; readonly query: ReadonlyMap<string, number> };
}

/** Weights of the terms of the query, of the topic, and of the section's goal. */
const QUERY_WEIGHT = 2;
const TOPIC_WEIGHT = 1.5;
const GOAL_WEIGHT = 1;

export function createRelevanceTerms({ topic, focus }: Topic, section: PlanSection, query: string): RelevanceTerms {
  const weights = new Map<string, number>();
  const add = (text: string, weight: number): void => {
    for (const word of extractTerms(text)) weights.set(word, Math.max(weight, weights.get(word) ?? 0));
  };
  add(`${section.heading}. ${section.goal}`, GOAL_WEIGHT);
  add(`${topic}. ${focus}`, TOPIC_WEIGHT);
  add(`${query}. ${section.query}`, QUERY_WEIGHT);
  return { weights, subject: { topic: extractSubject(topic), query: extractSubject(query) } };
}

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
    ...[...terms].map((term) => [term, names.has(term) ? NAME_WEIGHT : 1] as const),
  ]);
}

const NO_WORDS: ReadonlySet<string> = new Set();

/** Finds hyphenated words. The length is bounded, because an endless word would be scanned from each of its letters. */
export const findCompounds = (text: string): ReadonlySet<string> =>
  new Set(
    (text.match(/\p{L}[\p{L}\p{N}]{0,40}(?:-[\p{L}\p{N}]{1,40}){1,8}/gu) ?? []).map((word) => word.toLowerCase()),
  );

const GENERIC_WORDS = readVocabulary(
  'how what which why who explain describe compare overview feature use method limit example background performance risk work way thing handle kind type different best good',
).words;

/** Returns the content words; all words when there are hardly any content words. */
function extractTerms(text: string): ReadonlySet<string> {
  const { words, numbers } = readClaims(text);
  const terms = words.union(numbers);
  return terms.size > 1 ? terms : readVocabulary(text).words;
}
