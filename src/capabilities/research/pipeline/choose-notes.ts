import type { SentenceIndex } from './sentence-index.ts';
import type { CollectedNote } from './state.ts';

/** Limits of one paragraph, chosen for Parley. */
const PARAGRAPH_NOTES_MAX = 5;
const PARAGRAPH_NOTES_MIN = 3;

/**
 * Chooses the notes of the next paragraph: the best-scored note, other notes of the same page, and, when these are few,
 * the next best notes of other pages. Notes of a page stay together and keep the page's order.
 *
 * @param candidates In any order. Notes similar to a written sentence are skipped.
 */
export function chooseNotes(
  candidates: readonly CollectedNote[],
  writtenSentences: SentenceIndex,
): readonly CollectedNote[] {
  const ranked = candidates
    .filter(({ sentences }) => !writtenSentences.hasSimilar(sentences[0] ?? ''))
    .toSorted((a, b) => b.score - a.score || a.id - b.id);
  const [best] = ranked;
  if (!best) return [];
  const chosen = ranked.filter(({ site }) => site === best.site).slice(0, PARAGRAPH_NOTES_MAX);
  const otherSites = ranked.filter(({ site }) => site !== best.site);
  if (chosen.length < PARAGRAPH_NOTES_MIN) chosen.push(...otherSites.slice(0, PARAGRAPH_NOTES_MIN - chosen.length));
  const sites = [...new Set(chosen.map(({ site }) => site))];
  return chosen.toSorted((a, b) => sites.indexOf(a.site) - sites.indexOf(b.site) || a.at - b.at);
}
