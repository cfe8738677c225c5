import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { RESEARCH_QUERY_NOTES_MAX, RESEARCH_SITE_NOTES_MAX } from '../../core/limits.ts';
import { createPassage } from '../citations/passage.ts';
import type { Note } from './kept.ts';
import type { SaidSentences } from './likeness.ts';
import { pageUnits } from './page-units.ts';
import { pageFits, wordsOf } from './page-fit.ts';
import type { FetchedSite } from './page-fit.ts';
import { scoreBy } from './score-units.ts';
import type { Candidate } from './score-units.ts';
import type { Wanted } from './wanted.ts';

export interface TakenNotes {
  /** By site and place. */
  readonly notes: readonly Note[];
  readonly contexts: readonly string[];
}

/**
 * Sentences of the sites that fit best what is wanted, word by word. Each holds by the citation check against the whole of
 * what was fetched. A long page takes some ten milliseconds; others have their turn behind each.
 *
 * @param sites Best first.
 * @param known What was noted before; it learns what is noted now.
 */
export async function takeNotes(
  sites: readonly FetchedSite[],
  wanted: Wanted,
  known: SaidSentences,
): Promise<TakenNotes> {
  const fits = pageFits(sites, wanted.about);
  const candidates: Candidate[] = [];
  for (const [rank, site] of sites.entries()) {
    const fit = fits.get(site.number);
    if (!fit) continue;
    for (const unit of pageUnits(site.passage))
      candidates.push({ ...unit, site, rank, fit, words: wordsOf(unit.sentences.join(' ')) });
    await turnOfOthers();
  }
  const score = scoreBy(wanted.words, candidates);
  const ranked = candidates
    .map((unit) => ({ unit, score: score(unit) }))
    .filter((each) => each.score > 0)
    .toSorted((a, b) => b.score - a.score || a.unit.rank - b.unit.rank || a.unit.at - b.unit.at);

  const contexts: string[] = [];
  const notes: Note[] = [];
  const counts = new Map<number, number>();
  const passages = new Map<number, ReturnType<typeof createPassage>>();
  for (const { unit, score: points } of ranked) {
    if (notes.length >= RESEARCH_QUERY_NOTES_MAX) break;
    const { number, passage } = unit.site;
    const count = counts.get(number) ?? 0;
    if (count >= RESEARCH_SITE_NOTES_MAX) continue;
    let source = passages.get(number);
    if (!source) {
      await turnOfOthers();
      source = createPassage(passage);
      passages.set(number, source);
    }
    const sentences = firstOnes(unit.sentences, (each) => !known.hasLike(each) && source.check(each).holds);
    if (sentences.length === 0) continue;
    for (const sentence of sentences) known.add(sentence);
    counts.set(number, count + 1);
    if (!contexts.includes(unit.context)) contexts.push(unit.context);
    const context = contexts.indexOf(unit.context);
    const { isAside } = unit.fit;
    notes.push({ site: number, at: unit.at, sentences, context, score: Number(points.toFixed(4)), isAside });
  }
  return { notes: notes.toSorted((a, b) => a.site - b.site || a.at - b.at), contexts };
}

function firstOnes<Item>(items: readonly Item[], isGood: (item: Item) => boolean): readonly Item[] {
  const end = items.findIndex((item) => !isGood(item));
  return end < 0 ? items : items.slice(0, end);
}
