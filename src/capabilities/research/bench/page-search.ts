import type { DocumentationPage } from '../../../../bench/setup/documentation.ts';
import { createTestPage, type TestPage } from '../pipeline/__fixtures__/test-research.ts';

/** Usual constants of BM25: saturation of repeated words, and the effect of a page's length. */
const SATURATION = 1.2;
const LENGTH_EFFECT = 0.75;

/** Searches documentation by words, so that reports can be judged without an index and a model. */
export function createPageSearch(
  pages: readonly DocumentationPage[],
): (query: string, resultsMax: number) => readonly TestPage[] {
  const indexed = pages.map(({ name, title, text }) => {
    const words = readWords(`${title} ${title} ${text}`);
    const counts = new Map<string, number>();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { page: createTestPage(title, text, `https://documentation.example/${name}`), counts, length: words.length };
  });
  const meanLength = indexed.reduce((sum, { length }) => sum + length, 0) / indexed.length;
  return (query, resultsMax) => {
    const weights = [...new Set(readWords(query))].map((word) => {
      const count = indexed.filter(({ counts }) => counts.has(word)).length;
      return [word, Math.log(1 + (indexed.length - count + 0.5) / (count + 0.5))] as const;
    });
    return indexed
      .map(({ page, counts, length }) => ({
        page,
        score: weights.reduce((sum, [word, weight]) => {
          const count = counts.get(word) ?? 0;
          const damping = SATURATION * (1 - LENGTH_EFFECT + (LENGTH_EFFECT * length) / meanLength);
          return sum + (weight * count * (SATURATION + 1)) / (count + damping);
        }, 0),
      }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, resultsMax)
      .map(({ page }) => page);
  };
}

const readWords = (text: string): readonly string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.replace(/(?<=\w{3})s$/, ''));
