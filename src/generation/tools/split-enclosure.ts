/** The text around two things of the same kind: before the first, between the two, and after the last. */
export interface TextAround {
  readonly first: string;
  /** Undefined when it is not known: then nothing encloses or separates them. */
  readonly between: string | undefined;
  readonly last: string;
}

/** Texts that enclose one thing, separate two and enclose all. */
export interface Enclosure {
  readonly begin: string;
  readonly before: string;
  readonly after: string;
  readonly separator: string;
  readonly end: string;
}

/**
 * Splits the texts around two things into what belongs to each of them and to all. What precedes each stands before the
 * first and at the end of the text between; what follows each stands after the last and at the start of the text between.
 */
export function splitEnclosure({ first, between, last }: TextAround): Enclosure {
  if (between === undefined) return { begin: '', before: first, after: last, separator: '', end: '' };
  const [firstMarks, betweenMarks, lastMarks] = [first, between, last].map(splitMarks) as [
    string[],
    string[],
    string[],
  ];
  const before = countCommonMarks(firstMarks.toReversed(), betweenMarks.toReversed());
  const rest = betweenMarks.slice(0, betweenMarks.length - before);
  const after = countCommonMarks(rest, lastMarks);
  return {
    begin: firstMarks.slice(0, firstMarks.length - before).join(''),
    before: betweenMarks.slice(betweenMarks.length - before).join(''),
    after: rest.slice(0, after).join(''),
    separator: rest.slice(after).join(''),
    end: lastMarks.slice(after).join(''),
  };
}

/** The text before an answer and after it, found by comparing two turns that differ in the answer. */
export function findFrame(
  one: string,
  other: { readonly head: string; readonly tail: string },
): { head: string; tail: string } {
  const marks = splitMarks(one);
  const head = marks.slice(0, countCommonMarks(marks, splitMarks(other.head)));
  const rest = marks.slice(head.length).toReversed();
  const tail = rest.slice(0, countCommonMarks(rest, splitMarks(other.tail).toReversed()));
  return { head: head.join(''), tail: tail.toReversed().join('') };
}

/** Splits a text into tags, words, single blanks and other characters: marks are compared as a whole. */
export const splitMarks = (text: string): string[] => text.match(/<[^<>\s"']*>?|\[\/?[A-Z_]+\]|\w+|[^]/gu) ?? [];

/** Splits a text at its blanks, and around its tags. */
export const splitTags = (text: string): string[] =>
  text.split(/\s+|(?<=[>\]])|(?=[<[])/).filter((part) => part !== '');

/** Counts the marks with which both lists start. */
export function countCommonMarks(a: readonly string[], b: readonly string[]): number {
  let count = 0;
  while (count < a.length && a[count] === b[count]) count++;
  return count;
}
