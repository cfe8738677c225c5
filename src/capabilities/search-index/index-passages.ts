import type { IndexPassage } from '../../store/index-documents.ts';
import { INDEX_DOCUMENT_PASSAGES_MAX, INDEX_HEADING_WEIGHT, INDEX_TITLE_WEIGHT } from './limits.ts';
import { splitPassages } from './passages.ts';
import { extractTerms, type TermCache } from './terms.ts';

/** Version of the format of passages and terms. Changing it makes a refresh read all documents again. */
export const INDEX_FORMAT = 2;

/** Names by which a document is found, besides its text. */
export interface DocumentNames {
  readonly title: string;
  /** Path within the collection, without extension; empty for a page of the web. */
  readonly path: string;
}

/** Returns the path of a file by which it is found: its reference without extension. */
export const getPathName = (reference: string): string => reference.replace(/\.[^./]{1,10}$/, '');

/**
 * Splits a document into passages with their terms. The terms of titles and headings are repeated: to BM25 that is a
 * field with a greater weight (BM25F), and it works the same on every database. A passage that starts within a section
 * begins with the heading of that section.
 *
 * @param cache Shared by the documents of a refresh.
 * @returns one passage above the limit, where there are more, so that the caller detects the excess.
 */
export function createIndexPassages(
  text: string,
  { title, path }: DocumentNames,
  cache: TermCache,
): readonly IndexPassage[] {
  const joinTerms = createTermJoiner({ title, path }, cache);
  const passages: IndexPassage[] = [];
  for (const passage of splitPassages(text)) {
    const terms = extractTerms(passage.text, cache);
    if (terms.length === 0) continue;
    const around = passage.headings.filter((heading) => heading !== title);
    const isWithinSection = !HEADING_LINE.test(passage.text);
    const section = isWithinSection ? around.at(-1) : undefined;
    passages.push({
      text: section === undefined ? passage.text : `## ${section}\n${passage.text}`,
      terms: joinTerms(passage.text, around, terms),
    });
    if (passages.length > INDEX_DOCUMENT_PASSAGES_MAX) break;
  }
  return passages;
}

/**
 * Creates the function that extracts the terms of a stored passage. It knows only the headings within the passage, so
 * that other headings of its section weigh less until the document is read again.
 */
export function createStoredPassageTerms(names: DocumentNames, cache: TermCache): (text: string) => readonly string[] {
  const joinTerms = createTermJoiner(names, cache);
  return (text) => joinTerms(text, [], extractTerms(text, cache));
}

/** Creates the function that joins the terms of a passage with those of the names and headings around and within it. */
function createTermJoiner(
  { title, path }: DocumentNames,
  cache: TermCache,
): (text: string, around: readonly string[], terms: readonly string[]) => readonly string[] {
  const repeat = (terms: readonly string[], count: number): readonly string[] =>
    Array.from({ length: count }, () => terms).flat();
  const nameTerms = [...repeat(extractTerms(title, cache), INDEX_TITLE_WEIGHT), ...extractTerms(path, cache)];
  return (text, around, terms) => {
    const within = [...text.matchAll(HEADING_LINES)].map(([line]) => line);
    const headingTerms = extractTerms([...around, ...within].join('\n'), cache);
    return [...nameTerms, ...repeat(headingTerms, INDEX_HEADING_WEIGHT), ...terms];
  };
}

const HEADING_LINE = /^#{1,6} \S/;
const HEADING_LINES = /^#{1,6} \S.*$/gm;
