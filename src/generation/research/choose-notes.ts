import type { SaidSentences } from './likeness.ts';
import type { HeldNote } from './state.ts';

/** Ours: notes of one paragraph. */
const PARAGRAPH_NOTES_MAX = 5;
const PARAGRAPH_NOTES_MIN = 3;

/**
 * Those of the next paragraph: the best note that is left, others of its page, and where these are few the next best ones.
 * Those of a page stand together, in its order.
 *
 * @param left Best first is not asked for; those that are like what was said are passed over.
 */
export function chooseNotes(left: readonly HeldNote[], said: SaidSentences): readonly HeldNote[] {
  const ranked = left
    .filter(({ sentences }) => !said.hasLike(sentences[0] ?? ''))
    .toSorted((a, b) => b.score - a.score || a.id - b.id);
  const [best] = ranked;
  if (!best) return [];
  const chosen = ranked.filter(({ site }) => site === best.site).slice(0, PARAGRAPH_NOTES_MAX);
  const others = ranked.filter(({ site }) => site !== best.site);
  if (chosen.length < PARAGRAPH_NOTES_MIN) chosen.push(...others.slice(0, PARAGRAPH_NOTES_MIN - chosen.length));
  const sites = [...new Set(chosen.map(({ site }) => site))];
  return chosen.toSorted((a, b) => sites.indexOf(a.site) - sites.indexOf(b.site) || a.at - b.at);
}
