import { claimsOf, vocabularyOf } from '../citations/claims.ts';
import type { PlanSection } from './kept.ts';
import type { Topic } from './topic.ts';

/** What is looked for, in words by their stems. */
export interface Wanted {
  /** How much each counts. */
  readonly words: ReadonlyMap<string, number>;
  /** Those of the topic, and those of the query, with how much each counts: a page that has few of either is about something else. */
  readonly about: { readonly topic: ReadonlyMap<string, number>; readonly query: ReadonlyMap<string, number> };
}

/** Ours: words of the query itself, of what it is for, and of the topic. */
const QUERY_WEIGHT = 2;
const TOPIC_WEIGHT = 1.5;
const GOAL_WEIGHT = 1;

export function wantedFor({ topic, focus }: Topic, section: PlanSection, query: string): Wanted {
  const wanted = new Map<string, number>();
  const add = (text: string, weight: number): void => {
    for (const word of termsOf(text)) wanted.set(word, Math.max(weight, wanted.get(word) ?? 0));
  };
  add(`${section.heading}. ${section.goal}`, GOAL_WEIGHT);
  add(`${topic}. ${focus}`, TOPIC_WEIGHT);
  add(`${query}. ${section.query}`, QUERY_WEIGHT);
  return { words: wanted, about: { topic: subjectOf(topic), query: subjectOf(query) } };
}

/** Ours: names tell more than other words what a text is about. */
const NAME_WEIGHT = 2;

/** Without words that may be asked of anything; `fast-check` counts as a whole and not by its parts. */
function subjectOf(text: string): ReadonlyMap<string, number> {
  const { names } = claimsOf(text);
  const compounds = compoundsOf(text);
  const parts = termsOf([...compounds].join(' ').replaceAll('-', ' '));
  const terms = termsOf(text)
    .difference(ANYTHING)
    .difference(compounds.size > 0 ? parts : NONE);
  return new Map([
    ...[...compounds].map((compound) => [compound, NAME_WEIGHT] as const),
    ...[...terms].map((term) => [term, names.has(term) ? NAME_WEIGHT : 1] as const),
  ]);
}

const NONE: ReadonlySet<string> = new Set();

/** Words that a hyphen makes one. Of bounded length: a word without an end would be looked through from each of its letters. */
export const compoundsOf = (text: string): ReadonlySet<string> =>
  new Set(
    (text.match(/\p{L}[\p{L}\p{N}]{0,40}(?:-[\p{L}\p{N}]{1,40}){1,8}/gu) ?? []).map((word) => word.toLowerCase()),
  );

const ANYTHING = vocabularyOf(
  'how what which why who explain describe compare overview feature use method limit example background performance risk work way thing handle kind type different best good',
).words;

/** Those that carry meaning; all of them where hardly any does. */
function termsOf(text: string): ReadonlySet<string> {
  const { words, numbers } = claimsOf(text);
  const terms = words.union(numbers);
  return terms.size > 1 ? terms : vocabularyOf(text).words;
}
